"""The server: pages over HTTP, to this machine alone, without writing anything
anywhere.
"""

import errno
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

from headway.errors import HeadwayError, require
from headway.report.listing import link
from headway.report.page import app, html, policy
from headway.report.schema import to_json
from headway.report.watch import NOUNS, Kind, Watch, decoded
from headway.userfile import described

ADDRESS = "127.0.0.1"

HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""The hosts that a browser may name. Requests under other names, which a page from
elsewhere could point here, are refused. The port may be that of a tunnel from another
machine."""

HEADERS = {
    "Content-Security-Policy": f"{policy(app(), served=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


class Server(ThreadingHTTPServer):
    """Shows the runs in a folder, on this machine alone, until it is stopped.

    Args:
        folder: that holds runs, or sweeps, or a run's own.
        port: where to listen; 0 takes a free one.

    Raises:
        HeadwayError: if there is no such folder, or the port cannot be taken.
    """

    daemon_threads = True
    request_queue_size = 512
    server_bind = (
        TCPServer.server_bind
    )  # HTTPServer's asks for the machine's name, which can take

    def __init__(self, folder: Path, port: int):
        require(0 <= port <= 65535, "port", port, "a whole number from 0 to 65535")
        self.watch = Watch(folder)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = "in use already: choose another, or 0 for any that is free"
            else:
                reason = f"not to be had ({error.strerror})"
            raise HeadwayError(f"port {port} is {reason}") from None

    @property
    def url(self) -> str:
        """The address of the page of all runs."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    def server_close(self) -> None:
        """Gives the port back."""
        super().server_close()
        # a thread that computes while the interpreter ends can crash it
        self.watch.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says on one line what went wrong, unless it is only that somebody hung up."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"headway: {type(error).__name__}: {error}", file=sys.stderr)


Answer = tuple[int, str, str]
"""The status, a line or a page, and its type. Of a page that is elsewhere, the line is
where.
"""


class Handler(BaseHTTPRequestHandler):
    """One request, and one answer to it."""

    timeout = 10.0  # seconds of silence after which a client is hung up on
    default_request_version = "HTTP/1.0"  # so that every answer has its headers

    def do_GET(self) -> None:
        """Answers with a page, its data or its version."""
        try:
            answer = self._found()
        except HeadwayError as error:
            answer = HTTPStatus.NOT_FOUND, f"{error}\n", TEXT
        except Exception as error:
            answer = HTTPStatus.INTERNAL_SERVER_ERROR, f"{described(error)}\n", TEXT
        self._send(*answer)

    do_HEAD = do_GET  # noqa: N815

    def _found(self) -> Answer:
        """The page of an address, or why there is none."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not HOSTS.fullmatch(hosts[0].strip()):
            why = "this server answers to 127.0.0.1 and localhost only\n"
            return HTTPStatus.FORBIDDEN, why, TEXT
        match re.split("[?#]", self.path)[0].split("/"):
            case ["", ("" | "data.json" | "version") as last]:
                return self._page("list", [], last)
            case ["", ("run" | "sweep" | "compare") as kind, *parts, last]:
                return self._page(kind, parts, last)
            case _:
                return HTTPStatus.NOT_FOUND, "there is no such page\n", TEXT

    def _page(self, kind: Kind, parts: list[str], last: str) -> Answer:
        """The page below /run/, say; the last part is empty in the address of a
        page.
        """
        assert isinstance(self.server, Server)
        watch = self.server.watch
        known = last in ("", "version", "data.json")
        shown = watch.find(kind, decoded(parts)) if known else None
        if shown is not None and last == "version":
            return HTTPStatus.OK, f"{shown.version}\n", TEXT
        if shown is not None:
            page = watch.page(shown)
            if last:
                return HTTPStatus.OK, to_json(page), JSON
            return HTTPStatus.OK, html(page), HTML
        if last and watch.find(kind, name := decoded([*parts, last])) is not None:
            return HTTPStatus.MOVED_PERMANENTLY, link(kind, name), TEXT
        return HTTPStatus.NOT_FOUND, f"there is no such {NOUNS[kind]}\n", TEXT

    def _send(self, status: int, text: str, kind: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        self.send_response_only(status)
        about = {"Content-Type": kind, "Content-Length": str(len(content))}
        about |= {"Location": text} if status == HTTPStatus.MOVED_PERMANENTLY else {}
        for name, value in {**HEADERS, **about}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answers a request that cannot be understood."""
        self.close_connection = True
        self._send(code, f"{message or 'this request cannot be understood'}\n", TEXT)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet: the terminal shows one line."""
