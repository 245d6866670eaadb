"""Output on the terminal: training as it goes, runs, sweeps, comparisons, the theory.

Runs, circuits and timelines have a text of their own: `print(found)`.
"""

from typing import TYPE_CHECKING

from headway.late import late

if TYPE_CHECKING:
    from headway.terminal.base import columns as columns
    from headway.terminal.base import console as console
    from headway.terminal.base import require_file as require_file
    from headway.terminal.checking import print_task as print_task
    from headway.terminal.live import counting as counting
    from headway.terminal.live import display as display
    from headway.terminal.live import following as following
    from headway.terminal.live import watching as watching
    from headway.terminal.summary import print_discovery as print_discovery
    from headway.terminal.summary import print_summary as print_summary
    from headway.terminal.tables import print_comparison as print_comparison
    from headway.terminal.tables import print_runs as print_runs
    from headway.terminal.tables import print_sweep as print_sweep

HOMES = {
    "base": "columns console require_file",
    "checking": "print_task",
    "live": "counting display following watching",
    "summary": "print_discovery print_summary",
    "tables": "print_comparison print_runs print_sweep",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
