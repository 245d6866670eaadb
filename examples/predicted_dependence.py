"""Does the flow of information in a trained circuit predict what training needs? (It
does not.)

Reads what `headway depend` found of several runs, and counts how often the prediction
came true. Without path P, Q *finds* no key, or *carries* a symbol less: then Q should
not form in a training with P clamped. It *serves* no answer any more, or is *apart*:
then it should.
"""

import json
from pathlib import Path

from headway import Task
from headway.dynamics import Dependence
from headway.judge import lost_without
from headway.relations import AttentionPath
from headway.tasks import Conditional, Retrieval

KEPT = Path(__file__).parents[1] / "results"
TASKS = {
    "D3": Retrieval(depth=3),
    "D2": Retrieval(depth=2),
    "conditional": Conditional(),
}
KINDS = ("finds", "carries", "serves", "apart")


def predicted(
    task: Task, paths: list[AttentionPath]
) -> dict[tuple[AttentionPath, ...], str]:
    """The part of every path P in every other path Q, by (P, Q)."""
    kinds = {}
    whole = lost_without(task, paths, causal=True) or {}
    for cut, lost in whole.items():
        left = [path for path in paths if path != cut and path not in lost.unfound]
        rest = lost_without(task, left, causal=True) or {}
        kinds |= dict.fromkeys(((cut, path) for path in lost.unfound), "finds")
        for path in left:
            serves = whole[path].answers and not rest[path].answers
            carries = path in lost.lacking
            kinds[cut, path] = "carries" if carries else "serves" if serves else "apart"
    return kinds


def came_true(found: Dependence, task: Task) -> list[tuple[str, bool]]:
    """The kind of every pair of which Q forms in the free training, and whether it came
    true.
    """
    moving = [path for path in found.circuit if len({*(path.relation.ends or ())}) == 2]
    kinds, formed = (
        predicted(task, moving),
        {g.path for g in found.free.paths if g.formed},
    )
    return [
        (kind, (kind in ("finds", "carries")) != other.formed)
        for training in found.clamped
        for other in training.paths
        if (kind := kinds.get((training.clamped, other.path))) and other.path in formed
    ]


for name, task in TASKS.items():
    runs = json.loads((KEPT / f"dependence_{name}.json").read_text("utf-8")).values()
    pairs = [
        pair for run in runs for pair in came_true(Dependence.from_json(run), task)
    ]
    told = f"{sum(true for _, true in pairs)} of {len(pairs)}"
    for kind in KINDS:
        those = [true for one, true in pairs if one == kind]
        told += f"; {kind} {sum(those)} of {len(those)}"
    print(f"{name}: {told}")
