"""Modules with as much of the trackers' interfaces as is used, and what they were told."""

from types import ModuleType, SimpleNamespace
from typing import Any


class Store:
    """What a tracker was told.

    Attributes:
        runs: name, config, log (a list of steps and values) and end of each of its runs, by id.
        broken: whether it takes nothing any more.
    """

    def __init__(self):
        self.runs, self.broken = dict[str, SimpleNamespace](), False

    def begin(self, id: str, name: str, config: dict[str, Any]) -> str:
        """A new run."""
        assert id not in self.runs
        self.runs[id] = SimpleNamespace(name=name, config=config, log=[], end=None)
        return id

    def log(self, id: str, values: dict[str, float], step: int) -> None:
        """Takes values, whose steps rise."""
        if self.broken:
            raise ConnectionError("no route to the tracker\nand more")
        log = self.runs[id].log
        assert not log or step > log[-1][0]
        log.append((step, values))


class Handle:
    """A run as Trackio and wandb return it."""

    def __init__(self, store: Store, id: str):
        self.store, self.id, self.name = store, id, id

    def log(self, values, step):
        self.store.log(self.id, values, step)

    def finish(self, exit_code=None):
        self.store.runs[self.id].end = exit_code


def trackio(store: Store) -> list[ModuleType]:
    def init(project, name, config, resume):
        assert (project, resume) in (("headway", "never"), ("headway", "must"))
        known = name in store.runs
        assert known == (resume == "must")
        return Handle(store, name if known else store.begin(name, name, config))

    return [module("trackio", init=init)]


def wandb(store: Store) -> list[ModuleType]:
    def init(project, name, config, reinit, id=None, resume=None):
        assert (project, reinit) == ("headway", "create_new")
        assert (id is None) == (resume is None)
        new = f"id{len(store.runs)}"
        return Handle(store, store.begin(new, name, config) if id is None else id)

    return [module("wandb", init=init)]


def mlflow(store: Store) -> list[ModuleType]:
    experiments = dict[str, SimpleNamespace]()

    class Client:
        def get_experiment_by_name(self, name):
            return experiments.get(name)

        def create_experiment(self, name):
            experiments[name] = SimpleNamespace(experiment_id=name)
            return name

        def create_run(self, experiment_id, run_name):
            assert experiment_id == "headway"
            id = store.begin(f"id{len(store.runs)}", run_name, {})
            return SimpleNamespace(info=SimpleNamespace(run_id=id))

        def update_run(self, run_id, status):
            assert run_id in store.runs
            assert status == "RUNNING"

        def log_batch(self, run_id, metrics=(), params=()):
            store.runs[run_id].config |= dict(params)
            for step in {step for _, _, _, step in metrics}:
                store.log(run_id, {key: value for key, value, _, at in metrics if at == step}, step)

        def set_terminated(self, run_id, status):
            store.runs[run_id].end = status

    def metric(key, value, timestamp, step):
        return key, value, timestamp, step

    def param(key, value):
        assert isinstance(value, str)
        return key, value

    entities = module("mlflow.entities", Metric=metric, Param=param)
    return [module("mlflow", MlflowClient=Client), entities]


def module(name: str, **what: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(what)
    return made


FAKES = {"trackio": trackio, "wandb": wandb, "mlflow": mlflow}
ENDS = {"trackio": (None, None), "wandb": (0, 1), "mlflow": ("FINISHED", "KILLED")}
"""How each is told that a run is done, and that it was stopped."""
