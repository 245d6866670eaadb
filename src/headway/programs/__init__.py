"""Programs: what a model does, as numpy code that runs without it."""

from typing import TYPE_CHECKING

from headway.late import late

if TYPE_CHECKING:
    from headway.programs.forced import Followed as Followed
    from headway.programs.judged import JudgedProgram as JudgedProgram
    from headway.programs.judged import program as program
    from headway.programs.printed import Program as Program

HOMES = {
    "forced": "Followed",
    "judged": "JudgedProgram program",
    "printed": "Program",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
