"""Section 8 and appendices C and E: the circuits of Transformers A, B and C."""

from functools import partial
from itertools import combinations

from headway.judge import Discovery, saved_discovery
from headway.recipes import changed
from headway.replace import Bench, Circuit, Uniform, jaccard
from headway.tasks import Retrieval
from headway.training import Run, held_out
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.paper.transformer_d import D, figures_of
from headway_experiments.reading import Row, by_run, least_heads, taken_apart, task_of
from headway_experiments.recipes import paper, roomy, smoke


def transformers_abc(scale: str) -> Configs:
    """Section 8: Transformers A, B and C, 12 layers of one head, D = 3.

    Small: eight seeds of `fast` with 12 layers, so that there are as many heads to
    do without.
    """
    if scale == "paper":
        return {name: paper(3, seed) for seed, name in enumerate("ABC")}
    if scale == "smoke":
        return {f"seed={seed}": smoke(3, seed) for seed in (1, 2)}
    deep = {"model.n_layers": 12}
    shallow = {f"seed={seed}": roomy(3, seed) for seed in range(8)}
    return {name: changed(config, deep) for name, config in shallow.items()}


def circuits(runs: Runs, *_: Runs) -> Measures:
    """Section 8 and appendices C and E: Transformers A, B and C."""
    beyond = {}
    for name, run in runs.items():
        if taken_apart(run):
            beyond[name] = _beyond_first(saved_discovery(run).circuit)
    likeness = {}
    for first, second in combinations(beyond, 2):
        likeness[f"{first} and {second}"] = jaccard(beyond[first], beyond[second])
    return {**by_run(runs, measured), "abc_likeness": likeness}


def measured(run: Run) -> Row:
    """One of the runs; its circuit, if it was found."""
    val_loss = run.metrics()[-1]["val_loss"]
    if not taken_apart(run):
        return {"abc_val_loss": val_loss}
    discovery = saved_discovery(run)
    circuit = discovery.circuit
    least = least_heads(run.config)
    heads = circuit.useful_heads
    attention = {}
    cut = dict[str, float]()
    needs_first = False
    for need in discovery.evidence.necessity:
        path = str(need.path)
        attention[path] = need.attention
        if need.path.at in heads[:1]:
            needs_first = True
        else:
            cut[path] = need.loss
    above_minimum = None if least is None else len(heads) - least
    depth = task_of(run.config, Retrieval).depth
    return {
        "abc_val_loss": val_loss,
        "abc_idle_share": 1 - len(heads) / len(circuit.mechanisms),
        "abc_useful_heads": len(heads),
        "abc_heads_above_minimum": above_minimum,
        "abc_first_joins_pairs": _first_joins_pairs(circuit, depth),
        "abc_replaced_loss": discovery.replaced_loss,
        "abc_path_attention": attention,
        "abc_path_cut": cut,
        "abc_first_uniform": _first_uniform(run, discovery) if needs_first else None,
    }


def _first_uniform(run: Run, discovery: Discovery) -> float:
    """The loss of the circuit with its first useful head uniform, on the evidence's
    sequences.
    """
    sequences = discovery.evidence.sequences
    seed = run.config.seed
    batch = held_out(run.task, sequences, seed, run.device, "certificate")
    bench = Bench(run.model(), run.task, batch, discovery.ablation)
    first = discovery.circuit.useful_heads[0]
    return bench.loss(discovery.circuit.replacing(first, Uniform()))


def _first_joins_pairs(circuit: Circuit, depth: int) -> bool:
    """True if the first useful head joins the two tokens of every pair (whatever else
    it does).
    """
    first = circuit.useful_heads[:1]
    relations = {path.relation for path in circuit.paths if path.at in first}
    seconds = range(2, 2 * depth + 1, 2)
    pairs = {f"s{second}←s{second - 1}" for second in seconds}
    return pairs <= relations


def _beyond_first(circuit: Circuit) -> list[tuple[int, str]]:
    """The paths of heads above the first useful one: rank of the layer, and
    relation.
    """
    layers = circuit.useful_layers
    first = circuit.useful_heads[:1]
    return [
        (layers.index(p.layer), p.relation) for p in circuit.paths if p.at not in first
    ]


def maps(abc: Runs, d: Runs) -> Drawn:
    """Appendix C: the attention of every layer."""
    stems = {"appendix-c-abc": abc, "appendix-c-d": d}.items()
    drawn = [
        figures_of(runs, "attention", stem, "Attention maps") for stem, runs in stems
    ]
    return drawn[0] | drawn[1]


FIG5 = partial(figures_of, name="circuit", stem="fig5", title="Circuit")
ABC = Group("abc", "Transformers A, B, C", transformers_abc, taken_apart=True)
CIRCUITS = "the circuits of Transformers A, B and C (section 8)"
MAPS, COSTS = (
    "attention maps of every layer",
    "what replacing heads and cutting paths costs",
)
EXPERIMENTS = (
    Experiment(__file__, "fig5", CIRCUITS, (ABC,), circuits, FIG5),
    Experiment(__file__, "appendix-c", MAPS, (ABC, D), circuits, maps),
    Experiment(__file__, "appendix-e", COSTS, (ABC,), circuits),
)
