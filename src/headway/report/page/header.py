"""The first screen of the page: what was trained, the verdict, and the key numbers."""

from headway.circuits import THRESHOLD, Discovery
from headway.circuits.emergence import BIRTH, learnt_in_order
from headway.report.findings import Findings
from headway.report.page.html import counted, escape, listed, named, number, tag, whole
from headway.report.page.verdicts import verdicts
from headway.report.roles import block_starts, position_labels
from headway.tasks import (
    ChainConfig,
    ConditionalConfig,
    RetrievalConfig,
    TaskConfig,
    task_kind,
    task_size,
)
from headway.training import RunConfig


def title(findings: Findings) -> str:
    """What the page is about, in a few words."""
    match findings.chains:
        case RetrievalConfig(depth=depth):
            return f"Following a chain of {depth} {'fact' if depth == 1 else 'facts'}"
        case ConditionalConfig():
            return "Looking up what needs two facts at once"


def header(findings: Findings, links: dict[str, str], drawing: str) -> str:
    """The first screen.

    Args:
        findings: of the run.
        links: the names of the sections by their anchors.
        drawing: the circuit's figure, or nothing if there is none.
    """
    menu = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in links.items())
    said = (
        f'<p class="kicker">headway · run {escape(findings.run.folder.name)}</p>\n'
        f"<h1>{escape(title(findings))}</h1>\n"
        f'<p class="setting">{setting(findings)}</p>\n'
        f'<p class="verdict">{verdict(findings)}</p>\n'
        f"{tiles(findings)}\n"
    )
    shown = tag("div", drawing, class_="shown") if drawing else ""
    first = tag("div", tag("div", said, class_="said") + shown, class_="first")
    return first + f'\n<nav aria-label="sections">{menu}</nav>\n'


def setting(findings: Findings) -> str:
    """The task's and the model's size on one line."""
    return setting_of(findings.run.config)


def _sizes(task: TaskConfig) -> list[str]:
    size = task_size(task).replace("=", " = ")
    if isinstance(task, ChainConfig):
        return [size, f"N = {task.n_chains}", f"K = {task.d_token}"]
    return [size]


def setting_of(config: RunConfig) -> str:
    """The same of a config, whatever came of it."""
    task = config.task
    layers, heads = config.model.n_layers, config.model.n_heads
    parts = [
        f"{task_kind(task)} problem",
        *_sizes(task),
        f"{layers} {'layer' if layers == 1 else 'layers'} × {heads}"
        f" {'head' if heads == 1 else 'heads'}",
        f"width {config.model.d_model}",
        "causal mask" if config.model.causal else "no mask",
        f"seed {config.seed}",
    ]
    return " · ".join(f"<span>{escape(part)}</span>" for part in parts)


def verdict(findings: Findings) -> str:
    """What came out, in one or two sentences."""
    if not findings.metrics:
        return "Training has not been evaluated yet, so there is nothing to say."
    loss = number(findings.loss)
    if findings.outcome is None:
        return f"Training has not ended; the validation loss so far is {loss}."
    if findings.outcome["status"] != "done":
        return f"Training failed: {escape(findings.outcome['message'])}"
    if not findings.solved:
        return f"The task was not solved: the validation loss ended at {loss}. {_learnt(findings)}"
    if findings.discovery is None:
        return (
            f"The task was solved, with a validation loss of {loss}."
            " Which heads do it has not been looked into yet."
        )
    told = f"{_circuit(findings)} {_order(findings)}"
    return f"The task was solved, with a validation loss of {loss}. {told}"


def _order(findings: Findings) -> str:
    """In which order the hops were learnt; empty if they were not dated or there is but one."""
    timeline = findings.timeline
    if timeline is None or timeline.in_chain_order is None or len(timeline.hops) < 2:
        return ""
    dated = [(step, hop) for hop, step in timeline.hops.items() if step is not None]
    steps = ", ".join(f"{named(hop)} by step {whole(step)}" for step, hop in sorted(dated))
    how = "in" if timeline.in_chain_order else "<b>not</b> in"
    return f"The hops were learnt {how} the order of the chain: {steps}."


def _learnt(findings: Findings) -> str:
    partial = findings.metrics[-1]["partial"]
    learnt = [named(hop) for hop, value in partial.items() if value < BIRTH]
    if not learnt:
        return "No hop was learnt."
    return f"Of {counted(len(partial), 'hop')}, {', '.join(learnt)} got below {BIRTH:g}."


def _circuit(findings: Findings) -> str:
    discovery = findings.discovery
    assert discovery is not None
    heads, every = len(discovery.circuit.useful_heads), len(discovery.circuit.mechanisms)
    replaced = number(discovery.replaced_loss)
    work = "is" if heads == 1 else "are"
    if not discovery.faithful:
        return (
            f"The circuit found for it, {heads} of its {every} heads, is not the whole story: with"
            f" every head replaced the loss is {replaced}, not below {discovery.threshold:g}."
        )
    if not discovery.circuit.paths:
        return f"The circuit found for it has no path, so it explains nothing (loss {replaced})."
    layers = len(discovery.circuit.useful_layers)
    beyond = None if findings.minimum is None else layers - findings.minimum
    if beyond is None:
        least = "though by the theory no number of layers can answer"
    elif beyond == 0:
        least = "exactly the proven minimum"
    else:
        than = "more" if beyond > 0 else "fewer"
        least = f"{abs(beyond)} {than} than the proven minimum of {findings.minimum}"
    return (
        f"{heads} of its {every} heads {work} enough: with every head replaced by what it was found"
        f" to do, the loss is {replaced}{_doubts(discovery)}. They sit in"
        f" {layers} {'layer' if layers == 1 else 'layers'}, {least}."
    )


def _doubts(discovery: Discovery) -> str:
    """What of the certificate fails, in a few words; empty if nothing does."""
    failed = [verdict.name for verdict in verdicts(discovery, False) if verdict.holds is False]
    return f" (but the circuit is not {listed(failed, 'or')}, see section 4)" if failed else ""


def tiles(findings: Findings) -> str:
    """The key numbers."""
    discovery, solved = findings.discovery, findings.solved_at
    last = findings.metrics[-1] if findings.metrics else None
    entries = [
        (
            "Validation loss",
            number(findings.loss),
            _where_else(findings) if last else "no evaluation yet",
        ),
        (
            "Circuit loss",
            number(discovery.replaced_loss) if discovery else number(None),
            f"every head replaced ({escape(findings.ablation)});"
            f" to stay below {discovery.threshold:g}"
            if discovery
            else "see section 1",
        ),
        (
            "Useful heads",
            f"{len(findings.useful_heads)} <small>of {len(discovery.circuit.mechanisms)}</small>"
            if discovery
            else number(None),
            "no number of layers can answer"
            if findings.minimum is None
            else f"proven minimum: {findings.minimum} layers",
        ),
        (
            f"Step below {THRESHOLD:g}",
            whole(solved["step"]) if solved else _not_yet(findings),
            "first evaluation at which it was",
        ),
        (
            "Seconds until then",
            whole(solved["seconds"]) if solved else _not_yet(findings),
            f"{whole(last['examples_per_second'])} sequences a second" if last else "",
        ),
        (
            "In chain order",
            *(_chain_order(findings) if last else (number(None), "no evaluation yet")),
        ),
    ]
    return tag(
        "dl",
        "".join(
            f"<div><dt>{name}</dt><dd>{value}</dd><dd class=note>{note}</dd></div>\n"
            for name, value, note in entries
        ),
        class_="tiles",
    )


def _where_else(findings: Findings) -> str:
    """At which step the validation loss was taken, and the loss on other sequences."""
    told = f"at step {whole(findings.metrics[-1]['step'])}"
    test = (findings.outcome or {}).get("test_loss")
    return told if test is None else f"{told}; test loss {number(test)}, on other sequences"


def _not_yet(findings: Findings) -> str:
    return whole(None) if findings.outcome is None else '<span class="none">never</span>'


def _chain_order(findings: Findings) -> tuple[str, str]:
    """Whether the hops were learnt in chain order, and in which order they were."""
    hops, task = findings.hops, findings.run.task
    learnt = sorted((step, hop) for hop, step in hops.items() if step is not None)
    if not learnt:
        return number(None), "no hop was learnt"
    order = "learnt: " + ", ".join(named(hop) for _, hop in learnt)
    in_order = learnt_in_order(hops, task.hop_order)
    if in_order is None:
        return number(None), order
    return "yes" if in_order else "no", order


def example(findings: Findings) -> str:
    """One held-out sequence as coloured chips, with its explanation."""
    task, batch = findings.run.task, findings.example
    labels, starts = position_labels(task, batch), set(block_starts(task, batch))
    owner = {
        position: chain for row in batch.roles[0].tolist() for chain, position in enumerate(row)
    }
    blocks = [""]
    for position, label in enumerate(labels):
        chain = owner.get(position)
        look = f"chip chain c{1 + chain % 6}" if chain is not None else "chip"
        if position in starts:
            blocks.append("")
        blocks[-1] += f'<span class="{look}">{named(label)}</span>'
    strip = tag("p", "".join(tag("span", block) for block in blocks), class_="sequence")
    return f"{strip}\n<p class=under>{_reading(findings)}</p>"


def _reading(findings: Findings) -> str:
    match findings.chains:
        case RetrievalConfig(depth=depth, n_chains=n, asked=asked):
            hops = [named(f"x_{hop}") for hop in asked]
            whole_chain = len(hops) == depth > 2
            asked = f"{hops[0]} … {hops[-1]}" if whole_chain else listed(hops, "and")
            return (
                f"One held-out sequence as the model reads it: {n} chains (letters, colours) of"
                f" {depth + 1} symbols (numbers), cut into pairs, the pairs shuffled within their"
                f" block. The last block asks: at each {named('x_0')} the model must answer"
                f" {asked} of that chain. Symbols are random vectors drawn afresh for every"
                " sequence, so nothing can be known by heart."
            )
        case ConditionalConfig(n_values=m):
            return (
                f"One held-out sequence as the model reads it: a table with a row x y z for each"
                f" of {m * m} pairs of values, facts that give every query a its y and its x, and"
                " the queries, which ask for z. The number tells which query a position belongs"
                " to; rows that nobody asks for are marked with a dot. Symbols are random vectors"
                " drawn afresh for every sequence."
            )
