"""Verbs that show runs: as pages, in the browser, as a table."""

import contextlib
import threading
import webbrowser
from pathlib import Path

from headway.errors import HeadwayError
from headway.reading import require_there
from headway.verbs import opened, require_runs


def report(folders: tuple[Path, ...], /, out: Path | None = None) -> None:
    """Write a run's report.html and, with matplotlib, its figures for papers (SVG and
    PNG).

    For several runs, one page that compares them. For a folder of runs, such as a
    sweep's, one page about all of them.

    Args:
        folders: the folders of one or more runs, or one folder that holds runs.
        out: the page of several runs; by default comparison.html in the folder that
            holds them all, and report.html in a folder of runs.
    """
    require_runs(*folders)
    from headway import terminal
    from headway.report import figures_if_possible, write_report
    from headway.report.runs import write_runs
    from headway.training.files import is_there

    if out is not None:
        terminal.require_file(out, (".html",))
    folder, *others = folders
    if others:
        print(f"report   {write_runs([opened(run) for run in folders], out)}")
    elif is_there(folder) and not is_there(folder / "config.json"):
        print(f"report   {write_runs(folder, out)}")
    elif out is not None:
        raise HeadwayError(
            "--out is for several runs or a folder of runs: a run's page and its "
            "figures are kept"
            f" in its folder, {folder}"
        )
    else:
        run = opened(folder)
        run.owned("figures")  # before the page is written
        print(f"report   {write_report(run)}")
        figures = figures_if_possible(run)
        lacking = (
            "without figures for papers: they need pip install 'headway-interp[plot]'"
        )
        print(f"figures  {figures}" if figures else lacking)


def serve(folder: Path = Path("runs"), /, port: int = 8765, open: bool = False) -> None:
    """Show the runs in a folder in the browser, live while they train, on this machine
    alone.

    Nothing is written. Runs in its sweeps, and in its folders of sweeps, are shown too.

    Args:
        folder: that holds run folders, or sweeps' folders.
        port: where to listen; 0 takes a free one.
        open: open a browser.
    """
    require_there(folder)
    from headway.report.server import Server

    with Server(folder, port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"serving runs on {server.url}  (Ctrl-C stops)")
        if open:
            threading.Thread(
                target=webbrowser.open, args=[server.url], daemon=True
            ).start()
        server.serve_forever()


def runs(
    folder: Path = Path("runs"),
    /,
    where: tuple[str, ...] = (),
    sort: str | None = None,
    table: Path | None = None,
) -> None:
    """List the runs in a folder, in its sweeps and folders of sweeps, and their state.

    Args:
        folder: that holds run folders, or sweeps' folders.
        where: which runs, by fields of their configs or by status: seed=0..3
            status=done,failed
        sort: the column to sort by, such as val_loss; by default the name.
        table: a .csv file to write every field and figure to
    """
    require_there(folder)
    from headway import sweeps, terminal

    if table is not None:
        terminal.require_file(table, (".csv",))
    rows = sweeps.table(folder, where, sort)
    terminal.print_runs(rows, folder, where)
    if table is not None:
        sweeps.write_table(table, rows)
        print(f"written to {table}")
