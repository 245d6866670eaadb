"""Weights as associative memories: how much they hold, and what one gradient step stores (Cabannes
et al. 2024, arXiv 2310.02984; Bietti et al. 2023, arXiv 2306.00802; Nichani et al. 2024, arXiv
2412.06538).

A sequence is one item, so attention has nothing to choose from, and a model of one layer without
norms and positions is x + W_O W_V x with x = e_z: a linear memory, W_V being a frozen rotation.
With attention that says nothing and an MLP it is x + W_out act(W_in x). Embeddings and read-out
are random and stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import geometric_mean

from headway.models import TransformerConfig
from headway.training import RunConfig, TrainingConfig
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.talk.measures import memories as measures
from headway_experiments.talk.measures.capacity import draw_capacity, items_for
from headway_experiments.tasks import Associations
from headway_experiments.trained import Trained

BARE = TransformerConfig(n_layers=1, norm="none", positions="none", init="associative")

LINEAR = [0.35 * 1.1**i for i in range(20)]
"""N log N over the parameters of a linear memory: the series of runs that brackets its capacity. It
is wide enough to bracket a capacity that grows with another power of them, too."""
MLP = [0.4 * 1.2**i for i in range(9)]
"""N log N over the parameters of an MLP, likewise."""


SHAPES = {
    "linear": {
        "paper": ([(d, 0) for d in (8, 16, 32, 64, 128, 256)], range(5), LINEAR),
        "small": ([(d, 0) for d in (8, 12, 16, 24, 32, 48)], range(3), LINEAR),
        "smoke": ([(6, 0), (12, 0)], range(1), LINEAR[7::6]),
    },
    "mlp": {
        "paper": ([*product((32, 64, 128), (32, 128, 512))], range(5), MLP),
        "small": ([*product((16, 24, 32), (8, 32, 128))], range(3), MLP),
        "smoke": ([(12, 12)], range(1), MLP[3::3]),
    },
}
"""Widths and hidden widths (0: linear), seeds, and the series that brackets each."""


def series(kind: str, scale: str) -> Configs:
    """Linear memories of the identity, or memories in an MLP, trained on all items at once."""
    return _series(*SHAPES[kind][scale])


def longer(scale: str) -> Configs:
    """Some of both with three times the steps, to see whether steps or parameters limit them."""
    if scale == "smoke":
        return _series([(6, 0)], [0], LINEAR[7::6], 900)
    one, other = {"paper": ((128, 0), (64, 128)), "small": ((32, 0), (24, 32))}[scale]
    return _series([one], [0], LINEAR, 900) | _series([other], [0], MLP, 900)


def one_step(scale: str) -> Configs:
    """One step of gradient descent from zero, on all items at once, by width."""
    widths, items, seeds = {
        "paper": ((8, 16, 32, 64, 128, 256, 512, 1024), 256, range(10)),
        "small": ((8, 16, 32, 64, 128, 256), 64, range(5)),
    }.get(scale, ((8, 64), 16, range(1)))
    return {
        f"d={d},items={items},seed={seed}": RunConfig(
            task=Associations(n_items=items, n_classes=items, sampling="all"),
            model=replace(BARE, d_model=d, d_mlp=0),
            training=replace(
                _training(1, items, 1.0, "W_O.0"),
                optimizer="sgd",
                learning_rate=10.0 * items,
                momentum=0.0,
                cooldown_steps=0,
            ),
            seed=seed,
        )
        for d in widths
        for seed in seeds
    }


def _series(
    shapes: Iterable[tuple[int, int]],
    seeds: Iterable[int],
    shares: Sequence[float],
    steps: int = 300,
) -> Configs:
    """Runs that bracket what memories of some widths and hidden widths (0: linear) hold."""
    seeds = tuple(seeds)
    configs: Configs = {}
    for d, m in shapes:
        name, parameters = (f"MLP d={d} m={m}", 2 * d * m) if m else (f"linear d={d}", d * d)
        rate, trained = (0.2, "W_in.0 W_out.0") if m else (1.0, "W_O.0")
        for n in dict.fromkeys(items_for(share * parameters) for share in shares):
            for seed in seeds:
                task = Associations(n_items=n, sampling="all")
                training = _training(steps, n, rate, trained)
                model = replace(BARE, d_model=d, d_mlp=m)
                configs[f"{name},items={n},seed={seed}"] = RunConfig(task, model, training, seed)
    return configs


def _training(steps: int, items: int, rate: float, trained: str) -> TrainingConfig:
    """Adam, on all items at every step; the second half cools down."""
    return TrainingConfig(
        steps=steps,
        batch_size=items,
        train_examples=None,
        curriculum=Trained(trained),
        learning_rate=rate,
        weight_decay=0.0,
        cooldown_steps=steps // 2,
        eval_every=steps,
        eval_examples=items,
        checkpoint_every=0,
        save_every=steps,
    )


def draw_associative(linear: Runs, with_mlp: Runs, _: Runs) -> Drawn:
    """The capacity against parameters, and accuracies against the number of items."""
    labelled = {"linear (d²)": linear, "MLP (2 m d)": with_mlp}
    kept = {label: measures.kept(runs).points for label, runs in labelled.items()}
    if not any(kept.values()):
        return {}
    title = "Associations kept, N log N, against trained parameters"
    figure = draw_capacity(kept, "N log N at 99 % accuracy, nats")
    return {"associative-memory": (title, figure)}


def draw_gradient(runs: Runs) -> Drawn:
    """Accuracy after one step against the width; and a panel per exponent of the frequencies, and
    one for the samples: errors, dotted the power expected."""
    from headway_experiments.figures import Panel, Series, draw_panels, means, numbered

    if not runs:
        return {}
    shares = [(run.config.transformer.d_model, measures.known_share(run)) for run in runs.values()]
    points = means(shares, numbered(0), "mean")
    look = {"levels": {"0.99": 0.99}, "log": "x", "limits": {"ylim": (0, 1.03)}}
    accuracy = Panel("", points, "width d", "accuracy after one step", **look)
    errors: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for (name, a, _), curve in measures.zipf_errors(measures.seeds_of(runs)).items():
        errors.setdefault((name, a), []).extend(curve.items())

    def series(name: str, a: float, number: int, label: str) -> list[Series]:
        *dots, mean = means(errors[name, a], numbered(number, True, ls=""), label, geometric_mean)
        last, power = mean.x[-1], measures.EXPECTED[name](a)
        expected = [mean.y[-1] * (x / last) ** -power for x in mean.x]
        return [*dots, mean, Series(mean.x, expected, {**numbered(number), "ls": ":"})]

    def panel(title: str, series: list[list[Series]], x: str) -> Panel:
        flat = [one for several in series for one in several]
        return Panel(title, flat, x, "error (dotted: the power expected)", log="xy")

    panels = [
        panel(
            f"a = {a:g}",
            [series(name, a, i, f"α: {name}") for i, name in enumerate(measures.SCHEMES)],
            "width d",
        )
        for a in measures.EXPONENTS
    ]
    samples = [series("samples", a, i, f"a = {a:g}") for i, a in enumerate(measures.EXPONENTS)]
    panels.append(panel("room for all that was seen", samples, "samples T"))
    one = "Accuracy after one gradient step from zero, against the width"
    zipf = "Errors of memories of Zipf frequencies, against width and samples"
    return {
        "gradient-memory": (one, draw_panels([accuracy])),
        "zipf-memory": (zipf, draw_panels(panels)),
    }


MLPS = "memories in an MLP, by width, hidden width and items"
SERIES = (
    Group("memories-linear", "linear memories, by width and items", partial(series, "linear")),
    Group("memories-mlp", MLPS, partial(series, "mlp")),
    Group("memories-longer", "some of both, trained for longer", longer),
)
STEP = (Group("memories-one-step", "one gradient step from zero, by width", one_step),)
KEPT = "how many associations a linear map and an MLP keep (arXiv 2310.02984, 2412.06538)"
STORED = "what one gradient step from zero stores (arXiv 2306.00802, 2310.02984)"
CAPACITY, GRADIENT = "associative-memory", "gradient-memory"
EXPERIMENTS = (
    Experiment(__file__, CAPACITY, KEPT, SERIES, measures.associative, draw_associative),
    Experiment(__file__, GRADIENT, STORED, STEP, measures.gradient, draw_gradient),
)
