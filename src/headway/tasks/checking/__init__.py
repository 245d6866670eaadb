"""Checks of a user's task: it is tried, and what is wrong with it is reported."""

from headway.tasks.checking.findings import Finding
from headway.tasks.checking.trial import check_task, require_sound, undeclared

__all__ = ["Finding", "check_task", "require_sound", "undeclared"]
