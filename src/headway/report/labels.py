"""The form in which names and settings are printed, in figures and on the page."""

import re
from collections.abc import Sequence

from headway.tasks import Task
from headway.text import counted
from headway.training import RunConfig
from headway.training.config import Elsewhere

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def plain(text: str) -> str:
    """A text with escapes for what is invisible or turns text round: names may be
    anything.
    """
    return re.sub(UNSEEN, lambda sign: f"\\u{ord(sign[0]):04x}", text)


def typeset(name: str) -> str:
    """A name of the code as it is printed: `x_1` as x₁, `s2←s1` as s₂←s₁, `find^2` as
    find².
    """
    name = re.sub(
        r"\b([a-z])_?(\d+)\b", lambda m: m[1] + m[2].translate(SUBSCRIPTS), name
    )
    return re.sub(r"\^(\d+)", lambda m: m[1].translate(SUPERSCRIPTS), name)


def shortened(name: str, most: int = 18) -> str:
    """A name of at most so many characters, its end left out if it is longer."""
    if len(name) <= most:
        return name
    return f"{name[: most - 1]}…"


def task_words(task: Task) -> str:
    """A task's kind and size."""
    kind = task.kind.replace("_", " ")
    return f"{kind} {task.label}".strip()


def setting_of(config: RunConfig) -> list[str]:
    """The settings of a run: its task, its model's size and mask, and the seed if one
    is known.
    """
    model = config.model
    layers = counted(model.n_layers, "layer")
    heads = counted(model.n_heads, "head")
    mask = "causal mask" if model.causal else "no mask"
    origin = f"seed {config.seed}"
    if isinstance(config.training, Elsewhere):
        origin = "trained elsewhere"
    return [task_words(config.task), f"{layers} × {heads}", model.size, mask, origin]


def common_parts(configs: Sequence[RunConfig]) -> list[str]:
    """The parts of the setting that several runs have in common."""
    parts = [setting_of(config) for config in configs]
    return [part for part in parts[0] if all(part in others for others in parts)]
