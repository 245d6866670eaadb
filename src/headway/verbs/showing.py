"""The verb that shows runs in the browser."""

import contextlib
import threading
import webbrowser
from pathlib import Path

from tyro.conf import Positional

from headway.arguments import Flag


def serve(folder: Positional[Path] = Path("runs"), port: int = 8765, open: Flag = False) -> None:
    """Show the runs in a folder in the browser, live while they train, on this machine alone.

    Nothing is written. Runs in its sweeps, and in its folders of sweeps, are shown too.

    Args:
        folder: that holds run folders, or sweeps' folders.
        port: where to listen; 0 takes a free one.
        open: open a browser.
    """
    from headway import terminal
    from headway.report.server import Server

    with Server(folder, port) as server, contextlib.suppress(KeyboardInterrupt):
        terminal.say(f"serving runs on {server.url}  (Ctrl-C stops)")
        if open:
            threading.Thread(target=webbrowser.open, args=[server.url], daemon=True).start()
        server.serve_forever()
