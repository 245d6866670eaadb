"""All experiments, groups of runs and claims that there are."""

from headway.replace import Circuit, Paths, Uniform
from headway.training import Run
from headway_experiments.experiment import groups_of
from headway_experiments.paper import FIGURES
from headway_experiments.talk import MECHANISMS

EXPERIMENTS = FIGURES | MECHANISMS
GROUPS = {
    group.name: group
    for group in groups_of(EXPERIMENTS.values())
    if group.plan("small")
}
CLAIMS = [claim for one in EXPERIMENTS.values() for claim in one.claims]


def written(folder, group, name, losses):
    """A run of a group at small scale, with its partial losses by step."""
    run = Run.create(folder / name, GROUPS[group].plan("small")[name])
    for step, partial in losses.items():
        loss = sum(partial.values()) / len(partial)
        line = {
            "train_loss": loss,
            "val_loss": loss,
            "partial": partial,
            "seconds": 1.0,
        }
        run.append_metrics({"step": step, **line})
    return run


def circuit(*layers):
    """A circuit of one head a layer, with the relations that each attends along."""
    heads = [Paths(frozenset(names)) if names else Uniform() for names in layers]
    return Circuit({(layer, 0): head for layer, head in enumerate(heads)})
