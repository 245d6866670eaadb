"""The runs that show which algorithm is learnt: jumping over facts, or passing symbols
on.

There is a block of depth × spare layers × mixture of depths. Around two of its cells,
three hops in four layers with and without the mixture, everything else that could
decide is changed, one thing at a time. Four layers are one more than jumping takes, and
just as many as passing on takes. A second block, `UNTAUGHT`, is of more hops.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from headway.recipes import changed
from headway.theory import closed_form
from headway.training import RunConfig, fast
from headway_experiments.curricula import Gaps, Growing, Leaps, PerLayer, Scheduled
from headway_experiments.experiment import Configs

SEEDS = range(3000, 3005)
"""The seeds of the judged runs; settings were chosen with seeds 2000 to 2009."""

SPARE: dict[int, tuple[int, ...]] = {2: (0, 1, 2), 3: (0, 1, 2, 3), 4: (1,)}
"""Layers beyond the flow minimum, by depth."""

QUICK: dict[str, Any] = {
    "model.d_model": 32,
    "model.d_mlp": 32,
    "training.steps": 1_200,
    "training.batch_size": 64,
    "training.learning_rate": 3e-3,
    "training.matrix_learning_rate": 0.02,
    "training.betas": (0.9, 0.95),
    "training.warmup_steps": 50,
    "training.cooldown_below": 0.0,
    "training.cooldown_steps": 0,
    "training.stop_below": 0.2,
    "training.patience": 0,
    "training.eval_every": 20,
    "training.eval_examples": 128,
    "training.checkpoint_every": 0,
    "training.save_every": 1_200,
    "training.precision": "float32",
}
"""The recipe `fast` at half its width and batch, in one attempt that ends as soon as
the hops are learnt, long before attention is sharp; so a run takes some ten seconds.
Rates are written out, so that the runs stay the same when the recipe changes."""

DECAY = {2: 0.05, 3: 0.05, 4: 0.1, 5: 0.05, 7: 0.05}
"""Weight decay by depth."""

WIDE: dict[str, Any] = {
    "model.d_model": 128,
    "model.d_mlp": 128,
    "training.patience": 0,
}
"""Likewise with more time: twice the width, one attempt, and attention may grow
sharp.
"""

SMOKE: dict[str, Any] = {**QUICK, "training.steps": 40, "training.warmup_steps": 10}
"""Far too short to learn anything."""

MODELS: dict[str, dict[str, Any]] = {
    "adam": {"training.optimizer": "adam"},
    "muon=0.01": {"training.matrix_learning_rate": 0.01},
    "width=16": {"model.d_model": 16, "model.d_mlp": 16},
    "width=64": {"model.d_model": 64, "model.d_mlp": 64},
    "heads=2": {"model.n_heads": 2},
    "heads=4": {"model.n_heads": 4},
    "mlp=0": {"model.d_mlp": 0},
    "code=token": {"task.position_code": "token"},
}
"""Other things that could decide: optimiser, shape, position code."""

CURRICULA: dict[str, dict[str, Any]] = {
    "growing": {"training.curriculum": Growing(every=150)},
    "near-to-far": {"training.curriculum": Scheduled("rising", every=150)},
    "gap": {"training.curriculum": Gaps((1, 3))},
    "by-layers": {"training.curriculum": PerLayer()},
}
"""Ways to ask, instead of for all hops of the full depth at once (see
`curricula.WAYS`).
"""

LONGER = "longer"
"""The base cell's runs again, at small scale, but on to a loss of 0.1: do they keep
their way?
"""

CHANGES = {
    **MODELS,
    **CURRICULA,
    LONGER: {"training.stop_below": 0.1, "training.steps": 2_400},
}
LEAPS = {"leaps": {"training.curriculum": Leaps()}}
MIXED = ("adam", "width=64", "heads=4", "code=token")
"""Changes that are made with the mixture, too."""


class Cell(NamedTuple):
    """A setting, which has a run per seed.

    Attributes:
        depth: D, hops.
        spare: layers beyond the flow minimum.
        mixture: whether sequences of all depths are in turn; else all are of the full
            depth.
        change: of the base cell, by its name in `CHANGES`, or `leaps`; empty if none.
    """

    depth: int
    spare: int
    mixture: bool
    change: str = ""

    def __str__(self):
        asked = "mixture" if self.mixture else "full"
        words = [f"D={self.depth}", f"spare={self.spare}", asked]
        if self.change:
            words.append(self.change)
        return ",".join(words)

    @property
    def layers(self) -> int:
        """The number of layers of its models."""
        return closed_form(self.depth) + self.spare

    @classmethod
    def of(cls, run: str) -> Self:
        """The cell of a run, by its name."""
        depth, spare, depths, *rest = run.split(",")
        change = rest[0] if len(rest) == 2 else ""
        hops = int(depth.removeprefix("D="))
        layers = int(spare.removeprefix("spare="))
        return cls(hops, layers, depths == "mixture", change)

    def config(self, seed: int, setting: dict[str, Any]) -> RunConfig:
        """A run of it, in the setting of a scale."""
        base = fast(self.depth, seed, deepening=False)
        changes = dict(setting)
        changes["model.n_layers"] = self.layers
        changes["training.weight_decay"] = DECAY[self.depth]
        if self.mixture:
            changes["training.curriculum"] = "mixture"
        changes |= (CHANGES | LEAPS).get(self.change, {})
        return changed(base, changes)


def cells(scale: str) -> list[Cell]:
    """The block, then the changes."""
    spares = dict(SPARE)
    if scale == "paper":
        spares[4] = (0, 1, 2)
    if scale == "smoke":
        spares = {2: (0,)}
    cells = []
    for depth, several in spares.items():
        for spare in several:
            cells += [Cell(depth, spare, mixture) for mixture in (False, True)]
    if scale == "smoke":
        return cells
    for change in CHANGES:
        if change != LONGER or scale == "small":
            cells.append(Cell(3, 1, False, change))
    cells += [Cell(3, 1, True, change) for change in MIXED]
    return cells


def runs_of(scale: str) -> Configs:
    """All cells of a seed before the next seed."""
    seeds, setting = {
        "smoke": (range(1), SMOKE),
        "small": (SEEDS, QUICK),
        "paper": (range(10), WIDE),
    }[scale]
    return _configs(cells(scale), seeds, setting)


def _configs(
    cells: Sequence[Cell], seeds: Iterable[int], setting: dict[str, Any]
) -> Configs:
    """All cells of a seed before the next seed."""
    configs: Configs = {}
    for seed in seeds:
        for cell in cells:
            configs[f"{cell},seed={seed}"] = cell.config(seed, setting)
    return configs


UNTAUGHT_SEEDS = range(3100, 3110)
"""The seeds that judge doubling where no layer is read out but the last; seed 2000
chose.
"""

UNTAUGHT = tuple(
    Cell(depth, spare, mixture, "" if mixture else "leaps")
    for depth, spare in ((5, 0), (4, 0), (5, 2), (7, 0))
    for mixture in (False, True)
)
"""Four, five and seven hops in the fewest layers, and five in six, which could pass on.
The full depth alone left a model of five hops in four layers on its plateau for 680
steps."""


def untaught(scale: str) -> Configs:
    """All cells of `UNTAUGHT` of a seed before the next seed, with four heads and more
    steps.
    """
    longer = {**QUICK, "training.steps": 1_500, "training.save_every": 300}
    seeds, setting, asked = {
        "smoke": (range(1), SMOKE, UNTAUGHT[2:4]),
        "small": (UNTAUGHT_SEEDS, longer, UNTAUGHT),
        "paper": (UNTAUGHT_SEEDS, WIDE, UNTAUGHT),
    }[scale]
    return _configs(asked, seeds, {**setting, "model.n_heads": 4})
