"""Carrying out the runs of a stack, whatever goes wrong with one of them."""

import gc
from collections.abc import Sequence
from typing import Any

from headway.errors import HeadwayError
from headway.sweeps.jobs import Event, Job, Stack, ended, failed, opened, settled
from headway.training import RunBusyError, resume_stacked
from headway.userfile import described


def carry_out(told: Sequence[dict[str, Any]]) -> list[Event]:
    """Starts runs or goes on with them, each from where it is, to their ends.

    What goes wrong with a run is recorded in its folder. A run that has ended is left as it is, and
    one that another process writes to is left to it. A run that cannot be read, as the file of its
    task is gone, has an error in it or has changed, has failed: to try it again would not help.

    Args:
        told: the jobs of a stack, each as `Job.to_json` gives it.

    Returns:
        How each ended: `done`, `failed` or `elsewhere`.
    """
    jobs, ends = list[Job](), list[Event]()
    for data in told:
        try:
            jobs.append(Job.from_json(data))
        except HeadwayError as error:
            ends.append(Event("failed", data["name"], message=reason(error)))
    return ends + trained(tuple(jobs))


def trained(stack: Stack) -> list[Event]:
    """Trains runs at once; what keeps them from going on so is found by each going on alone."""
    ends = {job: _before(job) for job in stack}
    going = [job for job, end in ends.items() if end is None]
    found = [end for end in ends.values() if end is not None]
    try:
        resume_stacked([job.folder for job in going])
        return found + [ended(job) or Event("done", job.name) for job in going]
    except RunBusyError:
        told = [Event("elsewhere", job.name) for job in going[:1]]
    except Exception as error:
        message = reason(error)
        told = [failed(job, message) for job in going] if len(going) == 1 else []
    gc.collect()  # of runs that were too large, what the error's frames held
    if len(going) == 1:
        return found + told
    return found + [end for job in going for end in trained((job,))]


def _before(job: Job) -> Event | None:
    """Why there is nothing to be done for a run, if so; else it has a folder."""
    try:
        with opened(job).writing():
            return settled(job)
    except RunBusyError:
        return Event("elsewhere", job.name)
    except Exception as error:
        return failed(job, reason(error))


def reason(error: Exception) -> str:
    """Why a run failed, on one line."""
    text = str(error) if isinstance(error, HeadwayError) else described(error)
    text = " ".join(text.split("\n", 1)[0].split())
    return text if len(text) <= 300 else f"{text[:299]}…"
