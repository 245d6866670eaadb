"""Every request that is one of HTTP gets one answer, at the price of an ordinary page."""

import re

import pytest
from serving import add_line, serving
from tiny_runs import tiny_config

from headway.report import watch
from headway.tasks import Retrieval
from headway.training import Run

CONFIG = tiny_config(Retrieval(depth=1, n_chains=2))
HOST = b"Host: localhost\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "runs"
    for name in ("a", "b", "s/one"):
        add_line(Run.create(folder / name, CONFIG), 0.5)
    with serving(folder) as site:
        yield site


def get(address, *headers, version=b"HTTP/1.1"):
    return b"\r\n".join(
        [b"GET " + address + b" " + version, b"Host: localhost", *headers, b"", b""]
    )


ANSWERED = {
    "address: whole": (get(b"http://localhost:1/run/a/?x#y"), 404),
    "address: an authority": (get(b"localhost:80"), 404),
    "address: an asterisk": (get(b"*"), 404),
    "address: backslashes": (get(b"\\run\\a"), 404),
    "address: half an escape": (get(b"/run/a%/"), 404),
    "address: an escape of an escape": (get(b"/run/%2561/"), 404),
    "address: an escaped letter": (get(b"/run/%61/"), 200),
    "address: bytes that are no text": (get(b"/run/%ff%fe%00/"), 404),
    "method: unknown": (b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "version: 2": (get(b"/", version=b"HTTP/2.0"), 505),
    "line: without an end": (b"x" * 70_000, 414),
    "length: zero": (get(b"/", b"Content-Length: 0"), 200),
    "header: a host after a bare return": (get(b"/", b"X: a\rHost: evil.example"), 403),
    "header: two hosts": (get(b"/", b"Host: localhost"), 403),
    "header: very many": (get(b"/", *[b"X: y"] * 50_000), 431),
    "header: what is expected": (get(b"/", b"Expect: 100-continue"), 200),
    "body: another request": (get(b"/version") + get(b"/run/a/"), 200),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_every_request_has_one_answer_of_the_right_status(site, name, capfd):
    request, status = ANSWERED[name]
    answer = site.sent(request)
    assert re.match(rb"HTTP/1\.0 %d [A-Z]" % status, answer), answer[:80]
    assert answer.count(b"HTTP/1.0 ") == 1
    head, _, body = answer.partition(b"\r\n\r\n")
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body) > 0
    assert b"Content-Security-Policy: " in head
    assert site.ask("/version").status == 200
    assert capfd.readouterr().err == ""


def test_what_goes_wrong_anywhere_is_an_answer(site, monkeypatch, capfd):
    def fails(*_):
        raise RecursionError("too <deep>\nTraceback")

    with monkeypatch.context() as patch:
        patch.setattr(watch.Watch, "find", fails)
        answers = [site.ask(path) for path in ("/", "/version", "/run/a/", "/sweep/s/version")]
    assert {one.status for one in answers} == {500}
    assert answers[-1].text == "RecursionError: too <deep>\n"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/version", "/data.json", "/run/a/", "/run/a/version", "/run/a/data.json", "/run/a"),
        *("/run/" + "a/" * 60, "/run/" + "no%2F" * 3_000),
        *("/sweep/s/", "/sweep/" + "s/" * 60, "/sweep/" + "s/" * 3_000),
        *("/compare/a/b/", "/compare/a/b", "/compare/" + "a/b/" * 30, "/compare/" + "x/" * 3_000),
        *("/compare/" + "x%2Fy/" * 60 + "version", "/compare/" + "%61/" * 5_000),
    ],
    ids=lambda address: address[:30],
)
def test_no_address_costs_more_than_a_few_looks_at_the_folder(site, monkeypatch, address):
    looks, look = [], watch.run_folders
    monkeypatch.setattr(watch, "run_folders", lambda *of: looks.append(of) or look(*of))
    site.ask(address)
    assert len(looks) <= 2
