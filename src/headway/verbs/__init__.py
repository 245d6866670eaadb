"""What the command line can do: a function a verb, whose arguments are the verb's."""

from headway.verbs.circuits import circuit, emergence, report, truth
from headway.verbs.heads import heads
from headway.verbs.language import ask, prompts
from headway.verbs.learning import demo, runs, sweep, train
from headway.verbs.papers import claims, mechanism, reproduce
from headway.verbs.showing import serve
from headway.verbs.theory import depths, theory
from headway.verbs.truncation import truncate

__all__ = [
    "ask",
    "circuit",
    "claims",
    "demo",
    "depths",
    "emergence",
    "heads",
    "mechanism",
    "prompts",
    "report",
    "reproduce",
    "runs",
    "serve",
    "sweep",
    "theory",
    "train",
    "truncate",
    "truth",
]
