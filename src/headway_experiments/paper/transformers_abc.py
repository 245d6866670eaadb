"""Section 8 and appendices C and E: the circuits of Transformers A, B and C."""

from itertools import combinations

from headway.circuits import Circuit, jaccard, saved_discovery
from headway.recipes import changed
from headway.tasks import Retrieval
from headway_experiments.claims import Measures, claims_beside
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    GroupRuns,
    Runs,
    study,
)
from headway_experiments.paper.transformer_d import D, circuits_of
from headway_experiments.reading import least_heads, taken_apart, task_of
from headway_experiments.recipes import paper
from headway_experiments.scales import roomy, smoke


def transformers_abc(scale: str) -> Configs:
    """Section 8: Transformers A, B and C, 12 layers of one head, D = 3.

    Small: eight seeds of `fast` with 12 layers, so that there are as many heads to
    do without.
    """
    match scale:
        case "paper":
            return {name: paper(3, seed) for seed, name in enumerate("ABC")}
        case "small":
            more = {"model.n_layers": 12}
            return {f"seed={seed}": changed(roomy(3, seed), more) for seed in range(8)}
        case _:
            return {f"seed={seed}": smoke(3, seed) for seed in (1, 2)}


def circuits(runs: Runs) -> Measures:
    """Section 8 and appendices C and E: Transformers A, B and C."""
    found = {name: saved_discovery(run) for name, run in runs.items() if taken_apart(run)}
    measured: Measures = {
        "abc_val_loss": {name: run.metrics()[-1]["val_loss"] for name, run in runs.items()},
        "abc_idle_share": {},
        "abc_useful_heads": {},
        "abc_heads_above_minimum": {},
        "abc_first_joins_pairs": {},
        "abc_replaced_loss": {},
        "abc_path_cut": {},
        "abc_first_uniform": {},
        "abc_path_attention": {},
    }
    for name, discovery in found.items():
        circuit, config = discovery.circuit, runs[name].config
        least = least_heads(config)
        useful = len(circuit.useful_heads)
        measured["abc_idle_share"][name] = 1 - useful / len(circuit.mechanisms)
        measured["abc_useful_heads"][name] = float(useful)
        if least is not None:
            measured["abc_heads_above_minimum"][name] = float(useful - least)
        depth = task_of(runs[name].config, Retrieval).depth
        measured["abc_first_joins_pairs"][name] = float(_first_joins_pairs(circuit, depth))
        measured["abc_replaced_loss"][name] = discovery.replaced_loss
        first = circuit.useful_heads[0] if circuit.useful_heads else None
        for n in discovery.evidence.necessity:
            path = f"{name} {n.path}"
            measured["abc_path_attention"][path] = n.attention
            if n.path.at != first:
                measured["abc_path_cut"][path] = n.loss
            else:
                measured["abc_first_uniform"][name] = n.uniform
    measured["abc_likeness"] = {
        f"{a} and {b}": jaccard(_beyond_first(found[a].circuit), _beyond_first(found[b].circuit))
        for a, b in combinations(found, 2)
    }
    return measured


def _first_joins_pairs(circuit: Circuit, depth: int) -> bool:
    """Whether the first useful head joins the two tokens of every pair (whatever else it does)."""
    if not circuit.useful_heads:
        return False
    first = circuit.useful_heads[0]
    relations = {path.relation for path in circuit.paths if path.at == first}
    return {f"s{2 * i}←s{2 * i - 1}" for i in range(1, depth + 1)} <= relations


def _beyond_first(circuit: Circuit) -> list[tuple[int, str]]:
    """What the heads above the first useful one do: rank of the layer, and relation."""
    layers = circuit.useful_layers
    if not layers:
        return []
    first = circuit.useful_heads[0]
    return [(layers.index(p.layer), p.relation) for p in circuit.paths if p.at != first]


def maps(runs: GroupRuns) -> Drawn:
    """Appendix C: the attention of every layer."""
    from headway.figures import figure

    drawn: Drawn = {}
    for group in ("abc", "d"):
        for name, run in runs[group].items():
            name_of_file = f"appendix-c-{group}-{name}"
            drawn[name_of_file] = f"Attention maps of {name}", figure(run, "attention")
    return drawn


ABC = Group("abc", "Transformers A, B, C", transformers_abc, taken_apart=True)


EXPERIMENTS = (
    study(
        *(__file__, "fig5", "the circuits of Transformers A, B and C (section 8)", ABC, circuits),
        draw=lambda runs: circuits_of(runs, "fig5"),
    ),
    Experiment(
        "appendix-c",
        "attention maps of every layer",
        (ABC, D),
        lambda runs: circuits(runs["abc"]),
        maps,
        claims_beside(__file__, "appendix-c"),
    ),
    study(__file__, "appendix-e", "what replacing heads and cutting paths costs", ABC, circuits),
)
