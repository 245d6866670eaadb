"""The short runs that are damaged."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.models import TransformerConfig
from headway.tasks import Retrieval
from headway.training import Run, RunConfig, TrainingConfig, train
from headway.training.files import checksum, read_tensors

CONFIG = RunConfig(
    task=Retrieval(depth=1, n_chains=2),
    model=TransformerConfig(n_layers=1, d_model=8),
    training=TrainingConfig(
        steps=12, batch_size=4, train_examples=None, eval_every=2, eval_examples=4,
        checkpoint_every=3, save_every=4,
    ),
)  # fmt: skip


TIMES = {"seconds", "examples_per_second"}
"""Fields that differ from run to run."""


def kept(run: Run) -> dict[str, Any]:
    """The content of the folder of a run that is done, by file; without times."""
    assert run.status == "done", run.status
    outcome = run.outcome()
    assert outcome is not None
    tensors, about = read_tensors(run.folder / "state.safetensors")
    digests = {name: checksum({name: tensor}, {}) for name, tensor in tensors.items()}
    paths = sorted((run.folder / "checkpoints").iterdir())
    return {
        "config.json": run.read("config.json"),
        "metrics.jsonl": [_without_times(line) for line in run.metrics()],
        "outcome.json": _without_times(outcome),
        "state.safetensors": (digests, _without_times(about)),
        **{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths},
    }


def require_same(found: dict[str, Any], end: dict[str, Any]) -> None:
    """Make sure that what was left is that of the end; an error names what differs."""
    other = sorted(name for name in {*found, *end} if found.get(name) != end.get(name))
    assert not other, f"other than without a fault: {', '.join(other)}"


def _without_times(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in TIMES}


def taken_apart(folder: Path) -> Run:
    """A run with every file that a run may have, and a circuit with paths in both
    layers.
    """
    from headway.dynamics import emergence
    from headway.find import discover
    from headway.relations import Relation
    from headway.replace import Paths

    shape = replace(CONFIG.model, n_layers=2)
    training = replace(CONFIG.training, steps=6)
    run = train(
        replace(CONFIG, model=shape, training=training), folder / "runs" / "run"
    )
    asked: dict[str, Any] = {"threshold": 10.0, "sequences": 8, "trials": False}
    circuit = discover(run, **asked).circuit
    for layer, name in enumerate(("s0←s1", "s0←s2")):
        circuit = circuit.replacing((layer, 0), Paths(frozenset({Relation(name)})))
    found = discover(run, circuit=circuit, **asked)
    run.write("circuit.json", found.to_json())
    emergence(run, found, sequences=8)
    return with_every_file(run)


def with_every_file(run: Run) -> Run:
    """A run that was taken apart, with the other files that a run may have."""
    from headway.find import every_circuit
    from headway.judge import certify
    from headway.sweeps import depend
    from in_process import InThisProcess

    every_circuit(run, sequences=8, most=200)
    found = run.read("circuits.json")
    assert found is not None
    found |= {
        "circuits": [["L0.H0 s1←s2"]],
        "costs": [0.01],
        "right": [],
        "discovered": ["L0.H0 s1←s2"],
    }
    run.write("circuits.json", found)
    run.remove("circuit_given.json")  # which no page is made of
    depend(run, engine=InThisProcess())
    certify(run, agreement=0.5)
    return run
