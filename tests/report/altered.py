from dataclasses import replace
from typing import Any

from headway.circuits import Discovery


def certified(found: Discovery, **changes: Any) -> Discovery:
    """The discovery with some of its certificate changed."""
    return replace(found, certificate=replace(found.certificate, **changes))
