"""Five behaviours of language models: does a small circuit carry each, and what do its
heads do in fresh pairs?

python benchmarks/prompts.py [--models smollm2 gemma3] [--behaviours NAME …]
[--sequences 16] [--seed 0] [--out FILE]

The rule, for every file of examples/prompts:

- the model finds the right answer likelier than the wrong one in 80 % of 64 pairs;
- the circuit keeps 80 % of the gap between clean and corrupted texts, and 80 % of the
  logit difference, with what all other heads carry exchanged;
- it has at most 30 heads, and the study takes at most 600 s of processor time (5
  minutes of two cores);
- each of its heads, exchanged alone in the model as it is, changes the logit difference
  (the 95 % interval does not hold zero);
- of other heads none changes it by more than the least of these, in the mean.

A circuit is searched for on some pairs, and all of this is measured on as many others.
The other heads that are tried are the 48 likeliest to first order.
"""

import time
from pathlib import Path
from typing import Any

from frame import options, write
from headway.errors import HeadwayError
from headway.find import Gap, gap_of
from headway.judge import verdicts
from headway.replace import name_of
from headway.tasks.prompts import pairs_in
from headway_experiments.language import LocalModel, prompts_of, study_prompts
from headway_experiments.language.prompting import PromptStudy

EXAMPLES = Path(__file__).parent.parent / "examples" / "prompts"
BEHAVIOURS = (
    "indirect_object",
    "greater_than",
    "gendered_pronoun",
    "verb_agreement",
    "induction",
)
ASKED = 64
"""Pairs at most that the model answers, those of the half that circuits are judged on.
"""
ANSWERED, KEPT = 0.8, 0.8
HEADS, SECONDS = 30, 600
LISTED = 5
"""Heads beside the circuit that are written down."""


def of_metric(study: PromptStudy) -> float:
    """The share of the logit difference that the circuit keeps."""
    kept = study.discovery.evidence.likeness.circuit.loss
    return -kept / study.gap.clean[study.gap.metric]


def bars(study: PromptStudy, answered: Gap, seconds: float) -> dict[str, bool]:
    """Which parts of the rule are met."""
    kept = study.kept
    return {
        "answered": answered.right >= ANSWERED,
        "gap kept": kept is not None and kept >= KEPT,
        "logit difference kept": of_metric(study) >= KEPT,
        "heads": len(study.cuts) <= HEADS,
        "seconds": seconds <= SECONDS,
        "each head moves it": all(cut.is_sure for cut in study.cuts),
        "no other moves it more": not study.above,
    }


def row(study: PromptStudy, answered: Gap, seconds: float) -> dict[str, Any]:
    """The figures of a study."""
    data = study.to_json()
    others = sorted(data["others"], key=lambda cut: -abs(cut["lost"]))
    circuit = study.discovery.circuit
    heads = {
        name_of(head): str(circuit.mechanisms[head]) for head in circuit.useful_heads
    }
    return {
        "asked": answered.pairs,
        "right": answered.right,
        "likeliest": answered.likeliest,
        "gap": data["gap"],
        "gap_kept": study.kept,
        "logit_difference_kept": of_metric(study),
        "heads": heads,
        "cuts": data["cuts"],
        "others_tried": len(others),
        "others_above": len(study.above),
        "others": others[:LISTED],
        "verdicts": {each.name: each.holds for each in verdicts(study.discovery)},
        "bars": bars(study, answered, seconds),
        "cpu_seconds": round(seconds, 1),
    }


def main() -> None:
    """Study the behaviours, and write their figures down."""
    asked = options(
        __doc__,
        models=("smollm2", "gemma3"),
        behaviours=BEHAVIOURS,
        sequences=16,
        seed=0,
    )
    rows = []
    for model in asked.models:
        local = LocalModel(model, "completion", say=print)
        for behaviour in asked.behaviours:
            about = {"model": model, "behaviour": behaviour, "seed": asked.seed}
            about["pairs"] = asked.sequences
            try:
                pairs = pairs_in(EXAMPLES / f"{behaviour}.toml")
                task = prompts_of(local, pairs)
                answered = gap_of(local.model, task, ASKED, asked.seed)
                start = time.process_time()
                study = study_prompts(local, task, asked.sequences, asked.seed, print)
                found = row(study, answered, time.process_time() - start)
                print(f"{study}\n{found['bars']}", flush=True)
            except HeadwayError as error:
                found = {"refused": str(error)}
                print(error, flush=True)
            rows.append(about | found)
            write(asked, rows)


if __name__ == "__main__":
    main()
