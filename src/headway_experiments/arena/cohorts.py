"""Models for calibrating the judge of circuits: some for choosing its rules, others for
judging.

Programs and strangers' models differ between the two; where models are drawn or
trained, so do their seeds. Both lists were written down before any model for judging
was judged.

The lists for judging are the second ones. The first were judged by the judge as it was
before two of its rules changed; only strangers' models, which are few, are the same.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from headway import userfile
from headway.errors import HeadwayError
from headway.find import discover
from headway.models import Tappable, tapped
from headway.replace import Bench, Circuit, Head
from headway.tasks import Task
from headway.training import held_out, own
from headway_experiments.arena.case import Known, LeftOutError
from headway_experiments.arena.families import build_known, build_stranger, build_tracr
from headway_experiments.arena.siit import build_siit
from headway_experiments.arena.tracr_model import HOW, has_tracr
from headway_experiments.arena.trained import kept_run, learnt_run
from headway_experiments.arena.truth import circuit_of, truth_by_exchange

COHORTS = ("choosing", "judging")

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
STRANGERS = ROOT.parent / "shared" / "strangers"
"""The folder of others' models, if it is here (see `families.build_stranger`)."""

COMPILED = {
    "choosing": ["doubling D=1", "doubling D=3", "sequential D=4", "passing D=2"],
    "judging": ["doubling D=5", "sequential D=5", "passing D=4", "passing D=5"],
}
PLANTED = {"choosing": range(6000, 6006), "judging": range(7100, 7118)}
TRAINED = {
    "choosing": {1: range(8000, 8002), 2: range(8000, 8002), 3: range(8000, 8001)},
    "judging": {1: range(9100, 9108), 2: range(9100, 9104), 3: range(9100, 9102)},
}
"""Seeds by depth."""
OWN = {
    "choosing": {"lookup": [80], "vectors": [80], "own-loop": [80], "gpt2": [80]},
    "judging": {
        "lookup": [95],
        "vectors": [95],
        "own-loop": range(95, 100),
        "gpt2": range(95, 98),
    },
}
"""Seeds by task of the documentation."""
TRACR = {
    "choosing": [
        "reverse_8",
        "shift_twice",
        "pointer_2",
        "sort_7",
        "mirrored",
        "detect_aba",
    ],
    "judging": [
        *("reverse_1", "detect_pattern_abc", "pair_balance_1", "shuffle_dyck2_1"),
        *(
            "shuffle_dyck3_1",
            "sort_unique_1",
            "sort_unique_2",
            "sort_1",
            "sort_2",
            "sort_freq",
        ),
        *("make_count_less_freq_categorical_1", "make_count_less_freq_numerical_1"),
        *(
            "detect_abcd",
            "sort_freq_6",
            "count_less_freq_1",
            "count_less_freq_3",
            "middle",
        ),
        *("bigram_count", "same_count", "more_a_than_b", "distinct", "share_repeating"),
        "most_frequent",
    ],
}
SIIT = {
    "choosing": ["pointer_2 31", "shift_twice 31"],
    "judging": [
        "pointer_2 51",
        "shift_twice 51",
        "more_a_than_b 51",
        "there_and_back 51",
    ],
}
OTHERS = {
    "choosing": ["unique_copy", "sort", "count", "palindromes"],
    "judging": [
        *("majority", "interleaved_majority"),
        *("palindromes_two", "sorted_list", "cumulative_sum"),
    ],
}

SEQUENCES = 256
"""Sequences on which a model or a circuit is looked at before it counts."""
SOLVED = 0.95
"""A model has learnt its task if at least this share of the answers of every hop is
right.
"""
LIKE = 0.95
"""The share of whole sequences that a discovered circuit must answer as its model."""


def names_of(purpose: str) -> list[str]:
    """The models for `choosing` or for `judging`."""
    names = list(COMPILED[purpose])
    names += [f"planted {seed}" for seed in PLANTED[purpose]]
    for depth, seeds in TRAINED[purpose].items():
        names += [f"trained D={depth} seed {seed}" for seed in seeds]
    for task, seeds in OWN[purpose].items():
        names += [f"own {task} {seed}" for seed in seeds]
    names += [f"tracr {program}" for program in TRACR[purpose]]
    names += [f"siit {program}" for program in SIIT[purpose]]
    names += [f"stranger {name}" for name in OTHERS[purpose]]
    return names


class MissingError(HeadwayError):
    """A model that takes what is not here, and how to get it."""


@dataclass(frozen=True)
class Case:
    """A model with the circuit that is taken as right.

    Attributes:
        model: with a tap.
        task: that it solves.
        right: its circuit.
        acceptable: paths that another right circuit may have.
        because: the reason why it is taken as right.
    """

    model: Tappable
    task: Task
    right: Circuit
    acceptable: frozenset[Any]
    because: str


def case_of(name: str, folder: Path, strangers: Path = STRANGERS) -> Case:
    """A model of a cohort, and its circuit.

    Args:
        name: of the model.
        folder: of models that are trained; they stay there.
        strangers: the folder of others' models.

    Raises:
        MissingError: if what it takes is not here.
        LeftOutError: if it has not learnt its task, or its circuit is not known.
    """
    family, _, rest = name.partition(" ")
    match family:
        case "trained":
            return _trained(rest, folder)
        case "own":
            return _own(rest, folder)
        case "tracr":
            return _known(build_tracr(_with_tracr(rest), folder), "selectors")
        case "siit":
            return _taught(build_siit(_with_tracr(name), folder))
        case "stranger":
            return _stranger(rest, strangers)
    return _known(build_known(name, folder), "construction")


def _known(known: Known, because: str) -> Case:
    """A model whose paths are known; of each group of alternatives it has the first."""
    right = known.required
    acceptable = known.required
    for options in known.alternatives:
        right = right | options[0]
        acceptable = acceptable.union(*options)
    circuit = Circuit.of(sorted(right))
    return Case(known.model, known.task, circuit, acceptable, because)


def _trained(which: str, folder: Path) -> Case:
    """A model of the retrieval problem, trained by the recipe `fast`: `D=1 seed
    8000`.
    """
    depth, _, number = which.removeprefix("D=").partition(" seed ")
    seed = int(number)
    run = learnt_run(int(depth), seed, folder)
    return _by_exchange(run.model(), run.task, seed)


def _by_exchange(
    model: Tappable, task: Task, seed: int, heads: Collection[Head] | None = None
) -> Case:
    """A model whose circuit exchange shows, among the paths of some heads or of all."""
    truth = truth_by_exchange(model, task, seed, heads)
    right = circuit_of(truth.circuits[0], truth.rows)
    acceptable = frozenset[Any]().union(*truth.circuits)
    how = "exchange, of all sets" if truth.all_judged else "exchange, by elimination"
    how += ", rows by place" if truth.rows else ""
    return Case(model, task, right, acceptable, how)


# Own tasks of the documentation


def _own(which: str, folder: Path) -> Case:
    """A model of an example, trained as there: `lookup 80`."""
    name, number = which.split()
    seed = int(number)
    if name in ("own-loop", "gpt2"):
        task = userfile.load(EXAMPLES / "own_loop.py").TwoBack()
        model = _looped(name, task, seed)
    else:
        task = _task_of_example(name)
        config = own(task, seed=seed, layers=2)
        one_head = replace(config.model, n_heads=1)
        config = replace(config, model=one_head, threads=1)
        run = kept_run(config, folder / "own" / f"{name}-{seed}")
        task = run.task
        model = run.model()
    _require_solved(model, task)
    return _by_exchange(model, task, seed)


def _task_of_example(name: str) -> Task:
    if name == "lookup":
        return userfile.load(EXAMPLES / "token_task.py").Lookup()
    return userfile.load(EXAMPLES / "vector_task.py").VectorLookup()


def _looped(name: str, task: Task, seed: int) -> Tappable:
    """A module that learnt to name the token two back, in a loop as in the examples."""
    torch.manual_seed(seed)
    example = userfile.load(EXAMPLES / "own_loop.py")
    model = _gpt2(task) if name == "gpt2" else example.Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(200):
        batch = task.sample(32, generator)
        outputs = model(batch.inputs)
        logits = getattr(outputs, "logits", outputs)
        loss = task.targets.loss(logits[:, -task.n_read :], batch.targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    inputs = held_out(task, 2, 0, "cpu", "example").inputs
    return tapped(model.eval(), inputs)


def _gpt2(task: Task) -> Any:
    """The small GPT-2 of `examples/hugging_face.py`."""
    _require_transformers()
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=task.vocabulary or 0,
        n_positions=task.length,
        n_embd=32,
        n_layer=1,
        n_head=1,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return GPT2LMHeadModel(config)


def _require_solved(model: Tappable, task: Task) -> None:
    batch = held_out(task, SEQUENCES, 0, "cpu", "solved")
    with torch.no_grad():
        outputs = model(batch.inputs, lambda layer, pattern: pattern)
    at_queries = outputs[:, -task.n_read :]
    accuracies = task.targets.accuracies(at_queries, batch.targets)
    least = accuracies.nan_to_num(1.0).min().item()
    if least < SOLVED:
        raise LeftOutError(f"{least:.3f} of its answers are right")


# Models of which less is known


def _with_tracr(name: str) -> str:
    """The name, where Tracr is installed."""
    if not has_tracr():
        raise MissingError(HOW)
    return name


def _taught(known: Known) -> Case:
    """A model that was trained to a circuit's heads.

    Exchange shows what they attend to, or, where no few paths are enough, discovery
    does. Training exchanges one other head at a time; where the model does not answer
    with all of them exchanged, its heads are not the whole circuit.
    """
    if known.alone is not None and known.alone < SOLVED:
        raise LeftOutError(
            f"with other heads exchanged {known.alone:.3f} of answers are right"
        )
    try:
        case = _by_exchange(known.model, known.task, 0, known.heads)
    except LeftOutError:
        case = _discovered(known)
    heads = {*case.right.useful_heads}
    if heads != known.heads:
        raise LeftOutError(
            f"its heads are {sorted(known.heads)}, and {sorted(heads)} have paths"
        )
    return case


def _require_transformers() -> None:
    if find_spec("transformers") is None:
        raise MissingError("pip install '.[llm]'")


def _stranger(name: str, strangers: Path) -> Case:
    if not (strangers / "strangers.py").exists():
        raise MissingError(f"no such folder: {strangers}")
    _require_transformers()
    return _discovered(build_stranger(strangers, f"stranger {name}", strangers))


def _discovered(known: Known) -> Case:
    """A model with the circuit that headway discovers, if whole sequences stay with
    it.
    """
    discovery = discover(known.model, known.task, seed=5, trials=False, workers=1)
    circuit = discovery.circuit
    tabled = len(circuit.tabled_heads)
    if tabled:
        raise LeftOutError(f"{tabled} of its heads attend by table")
    alike = whole_sequences(known, circuit, discovery.ablation)
    if alike < LIKE:
        raise LeftOutError(
            f"the discovered circuit answers {alike:.3f} of sequences as the model"
        )
    right = Circuit.of(circuit.paths)
    return Case(known.model, known.task, right, frozenset(circuit.paths), "discovery")


def whole_sequences(known: Known, circuit: Circuit, ablation: str) -> float:
    """The share of sequences in which every answer stays with every head replaced."""
    batch = held_out(known.task, SEQUENCES, 5, "cpu", "whole sequences")
    bench = Bench(known.model, known.task, batch, ablation)
    intact, replaced = bench.outputs([{}, circuit.mechanisms])
    targets = known.task.targets
    same = targets.same(replaced, intact, batch.targets)
    changed = targets.asked(batch.targets) & ~same
    has_changed = changed.flatten(1).any(1)
    return 1 - has_changed.double().mean().item()
