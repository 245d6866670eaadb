"""The command line: verbs only. Bad input is one clear line on stderr and exit code 2."""

import os
import signal
import sys
from collections.abc import Callable
from importlib import metadata

from headway import verbs
from headway.arguments import parse
from headway.errors import HeadwayError

USAGE = """\
usage: headway VERB …

  demo                 train, find the circuit, date it, report: all in one go
  train [RECIPE]       train a model (recipes: fast, conditional, hops,
                       composition, paper)
  train --resume RUN   continue a run that was stopped
  circuit RUN [RUN …]  find and certify the circuit that a model learnt
  truth                score the search on models whose circuit is known
  emergence RUN        date every path of the circuit
  report RUN           write report.html, and draw figures for papers
  report RUN RUN …     one page that compares runs
  report FOLDER        one page about all runs in a folder, such as a sweep's
  serve [FOLDER]       show the runs in a folder in the browser, live
  runs [FOLDER]        the runs in a folder and their state, as a table
  sweep [PLAN]         many runs: a plan (a recipe, a Python file) and a grid
  truncate RUN         cut weights to low rank; what does the model lose?
  truncate --model M   the same in a language model; what does it say?
  theory [RUN]         how few layers could do; what a circuit brings where
  depths               train every depth with every number of layers
  reproduce FIGURE …   run what a figure of the paper takes; judge its claims
  mechanism NAME …     run what a mechanism of the talk takes; judge its claims
  claims               every claim of the paper, with its verdict
  prompts FORMULATION  questions for language models, as JSONL
  ask                  ask a local language model, by exact probabilities
  heads                which heads of a language model follow the chain

RUN is a run's folder. `headway VERB --help` lists a verb's options."""


VERBS: dict[str, Callable[..., None]] = {
    "demo": verbs.demo,
    "circuit": verbs.circuit,
    "truth": verbs.truth,
    "emergence": verbs.emergence,
    "report": verbs.report,
    "serve": verbs.serve,
    "runs": verbs.runs,
    "sweep": verbs.sweep,
    "truncate": verbs.truncate,
    "theory": verbs.theory,
    "depths": verbs.depths,
    "reproduce": verbs.reproduce,
    "mechanism": verbs.mechanism,
    "claims": verbs.claims,
    "prompts": verbs.prompts,
    "ask": verbs.ask,
    "heads": verbs.heads,
}


def main(args: list[str] | None = None) -> None:
    """The program `headway`."""
    if args is None:
        args = sys.argv[1:]
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as a scheduler ends a job
    try:
        dispatch(args)
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print("; ".join(["headway: interrupted", *notes_of(stop)[-1:]]), file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # who reads has seen enough, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def notes_of(error: BaseException) -> list[str]:
    """What was noted on an error on its way up, such as how to go on; the outermost comes last."""
    return list(getattr(error, "__notes__", []))


def dispatch(args: list[str]) -> None:
    """Does what a verb says.

    Raises:
        HeadwayError: if there is no such verb, or it cannot be done.
    """
    if not args or args[0] in ("-h", "--help", "help"):
        print(USAGE)
        return
    verb, rest = args[0], args[1:]
    if verb == "--version":
        print(metadata.version("headway"))
    elif verb == "train":
        verbs.train(rest)
    elif verb in VERBS:
        parse(VERBS[verb], f"headway {verb}", rest)
    else:
        names = ", ".join(["train", *VERBS])
        raise HeadwayError(f"verb = {verb!r} is not allowed: it must be one of {names}")
