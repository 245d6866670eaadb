"""When paths were born and hops learnt, on the terminal."""

from rich.table import Table

from headway.circuits import Timeline
from headway.terminal.base import console, sparkline


def print_timeline(timeline: Timeline) -> None:
    """When every path was born and every hop was learnt."""
    out = console()
    table = Table(box=None, pad_edge=False)
    titles = ("path", "layer.head", "attention", "born", "loss without it", "needed")
    for title in titles:
        table.add_column(title, justify="right" if title in ("born", "needed") else "left")
    top = max([1.0, *(x for history in timeline.paths for x in history.loss_without[1:])])
    for history in timeline.paths:
        layer, head, relation = history.path
        table.add_row(
            relation,
            f"{layer}.{head}",
            sparkline(history.attention, 18),
            at_step(history.born),
            sparkline(history.loss_without, 18, top),
            at_step(history.needed),
        )
    out.print(table)
    out.print("born: the step at which the attention along the path first passes 0.5")
    out.print("needed: the step at which the rise of the loss without it is half of its largest;")
    out.print("        never, if it always rises by less than 0.02")
    learnt = "   ".join(f"{hop} {at_step(step)}" for hop, step in timeline.hops.items())
    out.print(f"partial loss below 0.5 at step:  {learnt}")
    out.print(said_of_order(timeline))


def at_step(step: float | None) -> str:
    """A step, if there was one."""
    return "never" if step is None else f"{step:.0f}"


def said_of_order(timeline: Timeline) -> str:
    """Whether hops were learnt in chain order, in words."""
    if timeline.in_chain_order is None:
        return "no order of hops to compare"
    return "hops learnt in chain order" if timeline.in_chain_order else "hops NOT in chain order"
