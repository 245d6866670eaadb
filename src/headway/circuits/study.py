"""A study: from a trained model to its circuit, and the evidence for it.

`samples` finds the circuit, `evidence` measures it on sequences that the search did not see, and
searches are made again elsewhere.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from headway.circuits.ablation import Bench
from headway.circuits.ablation import workers as threads
from headway.circuits.discovery import Discovery, standing_of
from headway.circuits.evidence import Trial, evidence_for
from headway.circuits.looks import MOST_HEADS, looks
from headway.circuits.looks import SEQUENCES as LOOKED_AT
from headway.circuits.mechanism import Circuit, jaccard
from headway.circuits.samples import DRAFT, BlindSample, CorruptedSample, Sample
from headway.circuits.search import CANDIDATE_ATTENTION
from headway.circuits.subject import Subject, require_fits, studied
from headway.circuits.yardstick import Yardstick
from headway.errors import require
from headway.tasks import Task
from headway.training.files import clear_content_errors
from headway.training.run import Run

OTHER_THRESHOLDS = (0.75, 1.5)
"""Where else to search, in parts of the way from the model's own loss to the threshold."""

OTHER_SAMPLES = ("stability 1", "stability 2")
"""Names of samples to search on again, each half as large. (Other thresholds are tried on half of
the first sample.)"""


def discover(
    model: Run | str | FilePath | Any,
    task: Task | None = None,
    *,
    circuit: Circuit | None = None,
    step: int | None = None,
    threshold: float | None = None,
    sequences: int = 128,
    ablation: str | None = None,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    workers: int | None = None,
    seed: int | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and measures the evidence for them.

    Given a run, takes its last checkpoint and leaves the findings in its `circuit.json`; of
    another checkpoint, in `circuit_STEP.json`; of a circuit that was given, in
    `circuit_given.json`.

    Args:
        model: a run or its folder; or a model together with its task: one with a tap
            (`models.Tappable`), or any module whose attention can be tapped (`tapped`).
        task: the model's task, if a model is given.
        circuit: to be measured as it is, instead of searching for one.
        step: the checkpoint to study, if a run is given; by default the last.
        threshold: the loss that the model must stay below with every head replaced; by default the
            task's own, or, if it has none, what closes 90 or 80 % of the gap between the model's
            own loss and that with every head ablated (see `Yardstick`).
        sequences: how many held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths (`ABLATIONS`); by
            default zero, or, for such a task, mean; `corrupted` for a task that lays out corrupted
            sequences (see `circuits.corrupted` for how it is then searched and measured).
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        trials: whether to search again on other samples and at other thresholds, to see how
            stable the circuit is.
        workers: how many searches and measurements to run side by side, each on one core; by
            default as many as the machine has cores. The findings do not depend on it.
        seed: of the held-out sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; if its attention is linear, or
            there is one position to look at; or if an argument is out of range or does not fit the
            model.
    """
    fits = threshold is None or 0 < threshold < math.inf
    require(fits, "threshold", threshold, "a positive number")
    whole = isinstance(sequences, int) and sequences >= 8
    require(whole, "sequences", sequences, "a whole number of at least 8")
    fits = bool(candidate_attention) and all(0 < one <= 1 for one in candidate_attention)
    require(fits, "candidate_attention", candidate_attention, "numbers above 0, up to 1")
    require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
    with studied(model, task, step, seed) as subject:
        started = time.perf_counter()
        found = _study(
            *(subject, circuit, threshold, sequences, ablation),
            *(candidate_attention, trials, workers),
        )
        found = replace(found, seconds=round(time.perf_counter() - started, 3))
        if subject.run is not None:
            name = circuit_file(subject.run, step, circuit)
            _keep(subject.run, name, {"step": subject.step, "seed": subject.seed}, found)
    return found


def _study(
    subject: Subject,
    circuit: Circuit | None,
    threshold: float | None,
    whole: int,
    ablation: str | None,
    candidate_attention: Sequence[float],
    trials: bool,
    workers: int | None,
) -> Discovery:
    """Finds a model's circuit, or takes the one given, and measures it on other sequences."""
    model, task = subject.model, subject.task
    half, blind, can = math.ceil(0.5 * whole), task.is_read_blind, task.is_corrupted
    ablation = ablation or ("corrupted" if can else "mean" if blind else "zero")
    kind = CorruptedSample if ablation == "corrupted" else BlindSample if blind else Sample

    def sample(name: str, count: int) -> Sample:
        batch = subject.sequences(count, name)
        bench = Bench(model, task, batch, ablation, ends=(DRAFT, half))
        return kind(bench, count, candidate_attention)

    here = sample("circuit", whole)
    yardstick = Yardstick.of(here.bench, threshold)
    own = here.require_learnt(yardstick.limits(here.bench)[-1])
    again = trials and circuit is None
    first = here.part(half) if again else here
    others = {name: sample(name, half) for name in OTHER_SAMPLES} if again else {}
    fresh = Bench(model, task, subject.sequences(whole, "certificate"), ablation)
    if circuit is not None:
        require_fits(circuit, model)
        fresh.loss(circuit)  # a path that there is not is refused here

    benches = list({fresh, *(one.bench for one in (here, first, *others.values()))})
    with threads(workers, benches) as work:
        searching = work.submit(lambda: circuit or here.circuit(yardstick))
        elsewhere = {name: work.submit(s.circuit, yardstick) for name, s in others.items()}
        chosen = searching.result()
        attention = here.attention_with(chosen)
        limit = yardstick.met(here.bench, here.all.loss(chosen))
        at = [own + (limit - own) * part for part in OTHER_THRESHOLDS]
        at = at if again and kind is Sample else []
        measuring = work.submit(evidence_for, fresh, chosen, attention, yardstick, subject.seed)
        otherwise = work.submit(lambda: [first.search(limit) for limit in at])

        def trial(name: str, threshold: float, found: Circuit) -> Trial:
            return Trial(name, threshold, found.paths, jaccard(found.paths, chosen.paths))

        there = zip(at, otherwise.result(), strict=True)
        others_found = [trial("circuit", limit, found) for limit, found in there]
        threshold, evidence = measuring.result()
        others_found += [trial(n, threshold, f.result()) for n, f in elsewhere.items()]
    heads = chosen.useful_heads
    if ablation == "corrupted":
        heads = []
    elif not evidence.replaced_loss < threshold:
        heads = sorted(chosen.mechanisms)[:MOST_HEADS]
    return Discovery(
        circuit=chosen,
        yardstick=yardstick,
        threshold=threshold,
        ablation=ablation,
        evidence=replace(evidence, trials=others_found),
        attention=attention,
        standing=standing_of(task),
        candidates=sum(b.candidates for b in benches),
        forwards=round(sum(b.forwards * b.sequences for b in benches) / whole, 6),
        seconds=0.0,
        looks=looks(model, task, subject.sequences(LOOKED_AT, "looks"), chosen, heads),
    )


def circuit_file(run: Run, step: int | None = None, circuit: Circuit | None = None) -> str:
    """Where `discover` leaves its findings in a run's folder, for these arguments."""
    if circuit is not None:
        return "circuit_given.json"
    last = step is None or step == run.checkpoint_steps()[-1]
    return "circuit.json" if last else f"circuit_{step:07d}.json"


def _keep(run: Run, name: str, about: dict[str, Any], found: Discovery) -> None:
    """Leaves a discovery in a run's folder, and removes what is about another circuit."""
    data, known = {**about, **found.to_json()}, run.read("circuit.json")
    same = isinstance(known, dict) and {**known, "seconds": 0} == {**data, "seconds": 0}
    if name == "circuit.json" and not same:
        for outdated in ("circuits.json", "certificate.json", *_about_others(run, found.circuit)):
            run.remove(outdated)
    run.write(name, data)


def _about_others(run: Run, circuit: Circuit) -> list[str]:
    """The files of a run's folder that are about the paths of another circuit."""
    others = []
    for name in ("emergence.json", "dependence.json"):
        data = run.read(name)
        with clear_content_errors(name):
            if data is None:
                continue
            dated = name == "emergence.json"
            paths = [p["path"] for p in data["paths"]] if dated else data["circuit"]
        if paths != list(map(str, circuit.paths)):
            others.append(name)
    return others
