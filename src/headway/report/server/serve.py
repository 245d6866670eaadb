"""The server: pages over HTTP, to this machine alone, without writing anything anywhere."""

import contextlib
import errno
import re
import socket
import sys
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, NamedTuple

from headway.errors import HeadwayError, require
from headway.report.page import app, html, policy
from headway.report.schema import Page, to_json
from headway.report.server.catalogue import Catalogue
from headway.report.server.listing import Listing, link
from headway.report.server.pages import NOUNS, Kind, Pages, decoded
from headway.training.files import first_line

ADDRESS = "127.0.0.1"

HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""The hosts that a browser may name. Requests under other names, which a page from elsewhere could
point here, are refused. The port may be that of a tunnel from another machine."""

HEADERS = {
    "Content-Security-Policy": f"{policy(app(), served=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

MOST, PATIENCE = 256, 10.0
"""The most requests answered at a time, and the seconds within which one must arrive in full."""

LINGERING, READ_AWAY = 1.0, 2**24
"""The seconds for which, and the bytes to which, what a client still sends is read away after the
answer: hanging up on unread bytes would take the answer from it."""

LONGEST, MOST_PARTS = 16_384, 64
"""The bytes and the parts of an address that is looked at."""

FIRST_LINE = re.compile(rb"[!-~]+ [!-~]+ HTTP/(?P<major>[0-9])\.[0-9]\r?\n")
TARGET = re.compile(
    r"(?=/|http:)(?:http://(?P<host>[a-z0-9.:-]+))?(?P<path>/[^?#]*)?(?:[?#].*)?", re.IGNORECASE
)
LENGTH = re.compile(r"[0-9]{1,19}")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""The first line of a request, the address in it, a length of its body, and what no header holds: a
line that goes on in the next is refused, too."""

HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"

VERSION, DATA = "version", "data.json"
"""What a page asks the server for, beside its own address."""


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

    def __init__(self, folder: Path, port: int):
        require(0 <= port <= 65535, "port", port, "a whole number from 0 to 65535")
        self.catalogue = Catalogue(folder)
        self.listing, self.pages = Listing(self.catalogue), Pages(self.catalogue)
        self._free = threading.BoundedSemaphore(MOST)
        self._asking: dict[socket.socket, float] = {}
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = "in use already: choose another, or 0 for any that is free"
            else:
                reason = f"not to be had ({error.strerror})"
            raise HeadwayError(f"port {port} is {reason}") from None

    @property
    def url(self) -> str:
        """Where the page of all runs is."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own, if one of `MOST` is free; else hangs up."""
        if not self._free.acquire(blocking=False):
            self.close_request(request)
            return
        self._asking[request] = time.monotonic() + PATIENCE
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._asking.pop(request, None)
            self._free.release()

    def asked(self, request: socket.socket) -> None:
        """Takes note that a request was read to its end, however long the answer takes."""
        self._asking.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Hangs up, once the client has sent what it will or for long enough."""
        until, left = time.monotonic() + LINGERING, READ_AWAY
        with contextlib.suppress(OSError):  # it has hung up itself
            request.shutdown(socket.SHUT_WR)
            while left > 0 and (seconds := until - time.monotonic()) > 0:
                request.settimeout(seconds)
                if not (read := len(request.recv(65536))):
                    break
                left -= read
        self.close_request(request)

    def service_actions(self) -> None:
        """Hangs up on clients whose request did not arrive in time."""
        now = time.monotonic()
        for request, until in list(self._asking.items()):
            if until < now:
                with contextlib.suppress(OSError):  # it has hung up itself
                    request.shutdown(socket.SHUT_RDWR)

    def server_close(self) -> None:
        """Gives the port back."""
        super().server_close()
        self.pages.close()  # a thread that computes while the interpreter ends can crash it

    def server_bind(self) -> None:
        """Takes the port, without asking for the machine's name, which can take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says on one line what went wrong, unless it is only that somebody hung up."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"headway: {type(error).__name__}: {error}", file=sys.stderr)


class Reply(NamedTuple):
    """What is answered to a request.

    Attributes:
        status: of HTTP.
        text: what is sent, a line or a page.
        kind: of the text.
        headers: beside those that every answer has.
    """

    status: int
    text: str
    kind: str = TEXT
    headers: Mapping[str, str] = {}


class _Handler(BaseHTTPRequestHandler):
    """One request, and one answer to it, whatever it says."""

    raw_requestline: bytes
    timeout = PATIENCE
    default_request_version = "HTTP/1.0"  # that of answers to what names none that is known

    def parse_request(self) -> bool:
        """Reads a request; answers one that is not as HTTP says, and tells so."""
        self.command, self.request_version = "", self.default_request_version
        self.close_connection = True
        line = FIRST_LINE.fullmatch(self.raw_requestline)
        if line is None or line["major"] != b"1":
            bad, other = HTTPStatus.BAD_REQUEST, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
            self.send_error(bad if line is None else other)
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """Answers with a page, or with a version."""
        self._site.asked(self.connection)
        try:
            reply = self._refused() or self._found()
        except HeadwayError as error:
            reply = Reply(HTTPStatus.NOT_FOUND, f"{error}\n")
        except Exception as error:
            told = f"{type(error).__name__}: {first_line(error)}"
            reply = Reply(HTTPStatus.INTERNAL_SERVER_ERROR, f"{told}\n")
        self._answer(reply)

    do_HEAD = do_GET  # noqa: N815

    @property
    def _site(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def _refused(self) -> Reply | None:
        """Why a request is not answered with a page, if so."""
        hosts, lengths = (self.headers.get_all(n) or [] for n in ("Host", "Content-Length"))
        odd = any(UNPRINTABLE.search(str(value)) for value in self.headers.values())
        if self.headers.defects or odd:
            return _line(HTTPStatus.BAD_REQUEST, "a header of this request cannot be understood")
        if len(set(lengths)) > 1 or not all(map(LENGTH.fullmatch, lengths)):
            return _line(HTTPStatus.BAD_REQUEST, "its Content-Length is no length")
        if any(map(int, lengths)) or "Transfer-Encoding" in self.headers:
            return _line(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a request must have no body")
        if self.path.count("/") > MOST_PARTS or len(self.path) > LONGEST:
            most = f"at most {LONGEST} bytes and {MOST_PARTS} parts are looked at"
            return _line(HTTPStatus.REQUEST_URI_TOO_LONG, f"this address is too long: {most}")
        if (target := TARGET.fullmatch(self.path)) is None:
            return _line(HTTPStatus.BAD_REQUEST, "this address cannot be understood")
        asked = [*hosts, target["host"] or ADDRESS]
        if len(hosts) != 1 or not all(HOSTS.fullmatch(host.strip()) for host in asked):
            told = "this server answers to 127.0.0.1 and localhost only"
            return _line(HTTPStatus.FORBIDDEN, told)
        return None

    def _found(self) -> Reply:
        """What an address shows."""
        site, target = self._site, TARGET.fullmatch(self.path)
        assert target is not None
        match (target["path"] or "/").split("/"):
            case ["", "version"]:
                return _line(HTTPStatus.OK, site.listing.version())
            case ["", ("" | "data.json") as last]:
                return _shown(HTTPStatus.OK, site.listing.page(), last)
            case ["", ("run" | "sweep" | "compare") as kind, *parts, last]:
                return self._page(kind, parts, last)
            case _:
                return _line(HTTPStatus.NOT_FOUND, "there is no such page")

    def _page(self, kind: Kind, parts: list[str], last: str) -> Reply:
        """What begins with /run/, say, shows; the last part is empty in the address of a page."""
        pages = self._site.pages
        known = last in ("", VERSION, DATA)
        shown = pages.find(kind, decoded(parts)) if known else None
        if shown is not None and last == VERSION:
            return _line(HTTPStatus.OK, shown.version)
        if shown is not None:
            fine, page = pages.page(shown)
            return _shown(HTTPStatus.OK if fine else HTTPStatus.INTERNAL_SERVER_ERROR, page, last)
        if last and pages.find(kind, name := decoded([*parts, last])) is not None:
            place = {"Location": link(kind, name)}
            return Reply(HTTPStatus.MOVED_PERMANENTLY, "", headers=place)
        return _line(HTTPStatus.NOT_FOUND, f"there is no such {NOUNS[kind]}")

    def _answer(self, reply: Reply) -> None:
        content = reply.text.encode("utf-8", "backslashreplace")
        self.send_response_only(reply.status)
        about = {"Content-Type": reply.kind, "Content-Length": str(len(content))}
        for name, value in {**HEADERS, **about, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers a request that cannot be understood."""
        self._site.asked(self.connection)
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            told, allowed = "only GET and HEAD are answered\n", {"Allow": "GET, HEAD"}
            self._answer(Reply(HTTPStatus.METHOD_NOT_ALLOWED, told, headers=allowed))
        else:
            self._answer(_line(code, "this request cannot be understood"))

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet: the terminal shows one line."""


def _shown(status: int, page: Page, last: str) -> Reply:
    """A page, or its data alone."""
    return Reply(status, to_json(page), JSON) if last == DATA else Reply(status, html(page), HTML)


def _line(status: int, line: str) -> Reply:
    return Reply(status, f"{line}\n")
