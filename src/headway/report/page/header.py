"""The first screen of the page: what was trained, the verdict, and the key numbers."""

from typing import Any

from headway.circuits import THRESHOLD, Discovery
from headway.circuits.emergence import BIRTH, learnt_in_order
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.page.html import counted, escape, listed, missing, named, number, tag, whole
from headway.report.page.tiles import tiles as listed_tiles
from headway.report.page.verdicts import verdicts
from headway.report.settings import model_parts, task_parts
from headway.training import RunConfig


def title(findings: Findings) -> str:
    """What the page is about, in a few words, as text."""
    return typeset(findings.task.title)


def header(findings: Findings, links: dict[str, str]) -> str:
    """The first screen.

    Args:
        findings: of the run.
        links: the names of the sections by their anchors.
    """
    menu = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in links.items())
    said = (
        f'<p class="kicker">headway · run {escape(findings.run.folder.name)}</p>\n'
        f"<h1>{escape(title(findings))}</h1>\n"
        f'<p class="setting">{setting(findings)}</p>\n'
        f'<p class="verdict">{verdict(findings)}</p>\n{_changed(findings)}'
    )
    first = tag("div", tag("div", said) + tiles(findings), class_="first")
    return first + f'\n<nav aria-label="sections">{menu}</nav>\n'


def setting(findings: Findings) -> str:
    """The task's and the model's size on one line."""
    return setting_of(findings.run.config)


def setting_of(config: RunConfig) -> str:
    """The same of a config, whatever came of it."""
    parts = [*task_parts(config.task), *model_parts(config.model), f"seed {config.seed}"]
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
    told = f"The task was solved, with a validation loss of {loss}{_judged(findings)}."
    if findings.no_circuit is not None:
        return f"{told} {findings.no_circuit}"
    if findings.discovery is None:
        return f"{told} The heads that do it have not been looked for yet."
    return f"{told} {_circuit(findings)} {_order(findings)}"


def _changed(findings: Findings) -> str:
    """A warning that task or model are no longer those that were trained, if that is so."""
    if findings.run.changed is None:
        return ""
    told = "so what is computed anew here may be of another task or model than the run's"
    return missing(f"{escape(findings.run.changed)}, {told}.")


def _judged(findings: Findings) -> str:
    """The loss by which the task counts as solved, if that is not the validation loss."""
    task = findings.task
    if task.judged == task.hops:
        return ""
    hops = listed(map(named, task.judged))
    return f" ({number(findings.judged_loss)} for {hops}; the rest cannot be told without error)"


def _order(findings: Findings) -> str:
    """In which order the hops were learnt; empty if they were not dated or there is but one."""
    timeline = findings.timeline
    if timeline is None or timeline.in_chain_order is None:
        return ""
    dated = [(step, hop) for hop, step in timeline.hops.items() if step is not None]
    if len(dated) < 2:
        return ""
    steps = ", ".join(f"{named(hop)} by step {whole(step)}" for step, hop in sorted(dated))
    how = "in" if timeline.in_chain_order else "<b>not</b> in"
    return f"The hops were learnt {how} order: {steps}."


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
    layers = counted(len(discovery.circuit.useful_layers), "layer")
    return (
        f"{heads} of its {every} heads {work} enough: with every head replaced by what it was found"
        f" to do, the loss is {replaced}{_doubts(discovery)}. They sit in {layers}"
        f"{_beyond(findings)}."
    )


def _beyond(findings: Findings) -> str:
    """How far the circuit's layers are from the flow minimum, as the end of a sentence."""
    assert findings.discovery is not None
    least = findings.least
    if not least.known:
        return ""
    if least.layers is None:
        return ", though by the theory no number of layers can answer"
    beyond = len(findings.discovery.circuit.useful_layers) - least.layers
    if beyond == 0:
        return ", exactly the flow minimum"
    than = "more" if beyond > 0 else "fewer"
    return f", {abs(beyond)} {than} than the flow minimum of {least.layers}"


def _doubts(discovery: Discovery) -> str:
    """What of the evidence fails, in a few words; empty if nothing does."""
    failed = [verdict.name for verdict in verdicts(discovery, False) if verdict.holds is False]
    return f" (but the circuit is not {listed(failed, 'or')}, see the evidence)" if failed else ""


def tiles(findings: Findings) -> str:
    """The key numbers."""
    discovery, solved = findings.discovery, findings.solved_at
    last = findings.metrics[-1] if findings.metrics else None
    where = _where_else(findings) if last else "no evaluation yet"
    entries = [("Validation loss", number(findings.loss), where)]
    if discovery is not None:
        every = len(discovery.circuit.mechanisms)
        replaced = f"every head replaced ({escape(findings.ablation)})"
        replaced += f"; threshold {discovery.threshold:g}"
        heads = f"{len(findings.useful_heads)} <small>of {every}</small>"
        entries.append(("Circuit loss", number(discovery.replaced_loss), replaced))
        entries.append(("Useful heads", heads, findings.least.words))
    elif findings.no_circuit is None:
        entries.append(("Circuit loss", number(None), "see the circuit"))
        entries.append(("Useful heads", number(None), findings.least.words))
    entries += [
        (
            f"Step below {THRESHOLD:g}",
            whole(solved["step"]) if solved else _not_yet(findings),
            "first evaluation at which it was",
        ),
        (
            "Seconds until then",
            whole(solved["seconds"]) if solved else _not_yet(findings),
            _speed(last),
        ),
    ]
    if findings.task.hop_order:
        verdict, note = _hop_order(findings) if last else (number(None), "no evaluation yet")
        entries.append(("Hops in order", verdict, note))
    return listed_tiles(entries)


def _speed(line: dict[str, Any] | None) -> str:
    """How fast training was; empty if that was not recorded."""
    speed = None if line is None else line.get("examples_per_second")
    return "" if speed is None else f"{whole(speed)} sequences a second"


def _where_else(findings: Findings) -> str:
    """What the validation loss is, at which step it was taken, and that on other sequences."""
    told = f"{findings.task.targets.loss_name} at step {whole(findings.metrics[-1]['step'])}"
    test = (findings.outcome or {}).get("test_loss")
    return told if test is None else f"{told}; test loss {number(test)}, on other sequences"


def _not_yet(findings: Findings) -> str:
    return whole(None) if findings.outcome is None else '<span class="none">never</span>'


def _hop_order(findings: Findings) -> tuple[str, str]:
    """Whether the hops were learnt in their order, and in which order they were."""
    hops, task = findings.hops, findings.task
    learnt = sorted((step, hop) for hop, step in hops.items() if step is not None)
    if not learnt:
        return number(None), "no hop was learnt"
    order = "learnt: " + ", ".join(named(hop) for _, hop in learnt)
    in_order = learnt_in_order(hops, task.hop_order)
    if in_order is None:
        return number(None), order
    return "yes" if in_order else "no", order
