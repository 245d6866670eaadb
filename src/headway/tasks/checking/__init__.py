"""Whether a task keeps its word: a user's task is tried, and told what is wrong with it."""

from headway.tasks.checking.findings import Finding
from headway.tasks.checking.trial import check_task, undeclared

__all__ = ["Finding", "check_task", "undeclared"]
