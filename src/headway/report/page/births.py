"""How the circuit was born: losses and every path's attention through training, on one axis."""

from collections.abc import Mapping
from dataclasses import replace

from markupsafe import Markup

from headway.circuits import THRESHOLD, Timeline
from headway.circuits.emergence import BIRTH
from headway.circuits.roles import Cast
from headway.report.findings import Findings
from headway.report.labels import shortened, typeset
from headway.report.page.charts import Curve, Group, Name, Panel, stacked
from headway.report.page.html import named, path_key, path_tag, tag, whole
from headway.report.page.looks import DASHES, path_looks, symbol_colours
from headway.report.page.templating import of_run
from headway.report.span import shown_until
from headway.tasks import Task


def births(findings: Findings) -> Markup:
    """Curves on one axis of steps, and the words about them."""
    timeline, metrics = findings.timeline, findings.metrics
    groups = [loss_group(findings, findings.hops)] if metrics else []
    end = max([1, *(line["step"] for line in metrics), *(timeline.steps if timeline else ())])
    cut = end if timeline is None else shown_until(timeline, metrics)[0]
    if timeline is not None:
        paths = path_group(timeline, findings.task)
        groups.append(replace(paths, head=()))
    drawing = stacked(groups, end, cut) if groups else None
    return of_run(findings, "run/births.html", drawing=drawing)


def loss_group(findings: Findings, dated: Mapping[str, float | None]) -> Group:
    """The curves of the losses, of a run that was evaluated; `dated`: when hops were learnt."""
    metrics, task = findings.metrics, findings.task
    colours = symbol_colours(task)

    def points(values: list[float]) -> list[tuple[float, float]]:
        return [(line["step"], value) for line, value in zip(metrics, values, strict=True)]

    validation = Curve(points([m["val_loss"] for m in metrics]), "ink")
    training = Curve(points([m["train_loss"] for m in metrics]), "faint")
    names = [Name(tag("b", "validation"), validation, [""], ["val_loss"])]
    hops = []
    if len(task.hops) > 1:
        for i, hop in enumerate(task.hops):
            step = dated.get(hop)
            mark = None if step is None else (step, BIRTH, f"learnt at step {step:,.0f}")
            values = points([m["partial"][hop] for m in metrics])
            dashes = DASHES[i % len(DASHES)]
            name = typeset(shortened(hop, 5))
            hops.append(Curve(values, colours[hop], dashes, {"hop": hop}, mark, name))
            names.append(Name(named(hop), hops[-1], [whole(step)], ["partial"]))
    names.append(Name("training", training, [""], ["train_loss"]))
    curves = [training, *hops[::-1], validation]
    values = [value for curve in curves for _, value in curve.points]
    references = task.references()
    panel = Panel(
        f"loss ({task.targets.loss_name}) on held-out sequences",
        curves,
        top=max(1.3, *values, *(1.1 * loss for loss in references.values())),
        bottom=0.8 * max(min([*values, 0.3]), 1e-9),
        levels=[
            *((f"predicting {name}, {loss:.3g}", loss) for name, loss in references.items()),
            (f"solved, {THRESHOLD:g}", THRESHOLD),
        ],
        height=240,
    )
    return Group([panel], ["loss", "learnt", "now"], names)


def path_group(timeline: Timeline, task: Task | Cast) -> Group:
    """The curves of every path: attention along it, and what the model loses without."""
    looks = path_looks(task, [h.path for h in timeline.paths])
    attention, cut, names = [], [], []
    for history in timeline.paths:
        look, key = looks[history.path], {"path": path_key(history.path)}
        born, needed = history.born, history.needed
        mark = None if born is None else (born, BIRTH, f"born at step {born:,.0f}")
        points = list(zip(timeline.steps, history.attention, strict=True))
        attention.append(Curve(points, look.colour, look.dashes, key, mark))
        points = list(zip(timeline.steps, history.loss_without, strict=True))
        without, mark = Curve(points, look.colour, look.dashes, key), None
        if needed is not None:
            mark = (needed, without.at(needed), f"needed from step {needed:,.0f}")
        cut.append(replace(without, mark=mark))
        cells = [whole(born), whole(needed) if needed is not None else "never"]
        names.append(Name(path_tag(history.path), cut[-1], cells, ["attention", "without"]))
    own = Curve(list(zip(timeline.steps, timeline.loss, strict=True)), "ink")
    names.append(Name(tag("b", "as it is"), own, ["", "", ""], ["model"]))
    top = max([*timeline.loss, *(x for h in timeline.paths for x in h.loss_without)])
    panels = [
        Panel(
            "attention along every path",
            attention[::-1],
            top=1.0,
            levels=[(f"born, {BIRTH:g}", BIRTH)],
        ),
        Panel(
            "loss of the model as it was then, with one path knocked out",
            [*cut[::-1], own],
            top=1.05 * top,
        ),
    ]
    return Group(panels, ["path", "born", "needed", "attention", "knocked out"], names)
