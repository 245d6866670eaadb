"""What the server refuses, what cannot harm it, and that every request gets one
answer.
"""

import concurrent.futures
import os
import re
import shutil
import socket
import stat

import pytest
from pages import page_data, said
from serving import add_line, serving
from tiny_runs import tiny_config

from headway.report import server as server_module
from headway.report import watch
from headway.tasks import Retrieval
from headway.training import Run

CONFIG = tiny_config(Retrieval(depth=1, n_chains=2))
SECRET = 0.98765


def made(folder, *names, loss=0.5):
    """Runs of one evaluation in a folder."""
    for name in names:
        add_line(Run.create(folder / name, CONFIG), loss)
    return folder


@pytest.fixture
def outside(tmp_path):
    """A run that is not in the folder that is served."""
    return made(tmp_path / "outside", "secret", loss=SECRET) / "secret"


NAMES = ("plain", "sweep/one", "sweep/version")


@pytest.fixture
def site(tmp_path, outside):
    with serving(made(tmp_path / "runs", *NAMES)) as site:
        yield site


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """A site that nobody changes, with a run beside it that is not in its folder."""
    folder = tmp_path_factory.mktemp("still")
    made(folder / "outside", "secret", loss=SECRET)
    with serving(made(folder / "runs", *NAMES)) as site:
        yield site


@pytest.mark.parametrize(
    "path",
    [
        *("/run/", "/run//", "/run/./", "/run/../", "/run/sweep/", "/run/no/", "/no"),
        *(
            "/run/../outside/secret/",
            "/run/%2e%2e/outside/secret/",
            "/run/%2E%2E/outside/",
        ),
        *(
            "/run/..%2foutside%2fsecret/",
            "/run/%2e%2e%2foutside/secret/",
            "/../outside/secret/",
        ),
        *(
            "/run/plain/../plain/",
            "/run/plain/./",
            "/run/sweep%2fone/",
            "/run/sweep%2Fone/version",
        ),
        *(
            "/run/plain/checkpoints/",
            "/run/plain/config.json",
            "/run/plain/metrics.jsonl",
        ),
        *(
            "/run/plain%00/",
            "/run/%00/",
            "/run/plain%0a/",
            "/run/plain\\..\\..\\outside\\secret/",
        ),
        *(
            "/run/..%5coutside%5csecret/",
            "/etc/passwd",
            "//etc/passwd",
            "/run//etc/passwd",
        ),
        *("/run/{outside}/", "/run/%2f{outside}/", "/run/%252e%252e/outside/secret/"),
        *(
            "/run/plain%c0%af/",
            "/run/%ff%fe/",
            "/run/plain/version/version",
            "/version/",
            "*",
            "x",
        ),
    ],
)
def test_no_path_leads_anywhere_but_to_a_listed_run(still, path):
    answer = still.ask(path.format(outside=still.folder.parent / "outside" / "secret"))
    assert answer.status in (400, 404)
    assert str(SECRET) not in answer.text
    assert "root:" not in answer.text


def test_a_run_may_be_called_version(still):
    assert "one" not in still.ask("/run/sweep/version").headers.get("Location", "")
    assert still.ask("/run/sweep/version").headers["Location"] == "/run/sweep/version/"
    assert still.data("/run/sweep/version/")["name"] == "version"
    assert page_data(still.page("/run/plain/?x=/../../#y"))["losses"][1]["points"] == [
        [100, 0.5]
    ]


@pytest.mark.parametrize(
    "part",
    [
        "metrics.jsonl",
        "config.json",
        "circuit.json",
        ".lock",
        "checkpoints",
        "checkpoints/x",
    ],
)
def test_a_run_with_a_file_behind_a_link_out_is_refused(site, outside, part):
    link, target = site.folder / "plain" / part, outside / part
    if part == "checkpoints":
        shutil.rmtree(link)
    elif link.exists():
        link.unlink()
    else:
        target.write_text(f'{{"secret": {SECRET}}}')
    link.symlink_to(target)
    page, listed = site.page("/run/plain/"), site.page()
    for text in (page, listed):
        assert f"is a link that leads out of {site.folder}" in said(text)
        assert str(SECRET) not in text


@pytest.mark.parametrize(("up", "place"), [(0, "far"), (1, "sweep/far"), (2, "far")])
@pytest.mark.parametrize("how", ["whole", "relative", "through another link"])
def test_folders_behind_links_out_are_neither_listed_nor_shown(
    site, outside, up, place, how
):
    target = [outside, *outside.parents][up]
    if how == "relative":
        target = os.path.relpath(target, (site.folder / place).parent)
    elif how == "through another link":
        (site.folder / ".hop").symlink_to(target)
        target = site.folder / ".hop"
    before = site.links()
    (site.folder / place).symlink_to(target)
    assert site.links() == before
    names = [*place.split("/"), "outside", "secret"]
    for name in (names[: i + 1] for i in range(len(names))):
        for kind in ("run", "sweep"):
            if name != ["sweep"]:
                assert site.ask(f"/{kind}/{'/'.join(name)}/").status == 404
        assert site.ask(f"/compare/plain/{'%2F'.join(name)}/").status == 404


def test_what_lies_behind_a_link_out_is_not_even_looked_through(
    site, monkeypatch, outside
):
    (site.folder / "far").symlink_to(outside.parent)
    looked, scandir = [], os.scandir
    monkeypatch.setattr(
        os, "scandir", lambda path: looked.append(str(path)) or scandir(path)
    )
    site.page()
    assert str(site.folder) in looked
    assert not [path for path in looked if "far" in path]


def test_a_run_that_a_link_leads_to_once_more_is_listed_once(site, tmp_path):
    (site.folder / "again").symlink_to("plain")
    (site.folder / "loop").symlink_to("loop")
    (site.folder / "nowhere").symlink_to("missing")
    (tmp_path / "link").symlink_to(site.folder)
    with serving(tmp_path / "link") as linked:
        for one in (site, linked):
            assert one.data("/run/plain/")["kind"] == "run"
            assert one.ask("/run/again/").status == 404
            assert len(one.links()) == len(NAMES)


def test_links_round_in_a_circle_end(site):
    (site.folder / "up").symlink_to("..")
    (site.folder / "self").symlink_to(".")
    (site.folder / "sweep" / "back").symlink_to("../sweep")
    (site.folder / "one").symlink_to("two")
    (site.folder / "two").symlink_to("one")
    (site.folder / "plain" / "circle.json").symlink_to("circle.json")
    (site.folder / "sweep" / "one" / "checkpoints" / "again").symlink_to("..")
    listed = site.page()
    assert "/run/sweep/one/" in site.links()
    assert not [link for link in site.links() if "up" in link or link.count("/") > 5]
    assert "circle.json: Too many levels of symbolic links" in said(listed)
    assert "again is not a file" in said(listed)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize(
    "place",
    [
        "x",
        "sweep/x",
        "plain/x.json",
        "plain/config.json",
        "plain/checkpoints/x",
        ".lock",
    ],
)
def test_special_files_are_neither_opened_nor_waited_for(
    site, kind, place, monkeypatch
):
    path = site.folder / place
    path.unlink(missing_ok=True)
    monkeypatch.chdir(path.parent)
    if kind == "pipe":
        os.mkfifo(path.name)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    else:
        try:
            os.mknod(path.name, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # endless zeros
        except PermissionError:
            pytest.skip("no right to make a device")
    page, listed = site.page("/run/plain/"), site.page()
    for text in (page, listed):
        assert ("is not a file" in said(text)) == place.startswith("plain/")
    assert len(site.links()) == 3


ODD = [
    *(
        "a b",
        'it\'s "quoted"',
        "a#b?c=d&e",
        "100%",
        "%2e%2e",
        "%",
        "x..",
        "a;b",
        "a\\b",
    ),
    *(
        "ünïcode ✓",
        "\u202ertl",
        "עברית",
        "two\nlines",
        "tab\t\r",
        "version",
        "run",
        "-",
        "~",
        ":",
    ),
    *(
        '<img src=x onerror="alert(1)">',
        "<script>alert(1)<",
        "&lt;b&gt;",
        "{x}",
        "\\x00",
    ),
    *(
        "a" * 200,
        b"\xff\xfe".decode("utf-8", "surrogateescape"),
        "<!--",
        "'-alert(1)-'",
        "$&",
    ),
]


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_odd_names_are_only_names(tmp_path, name):
    with serving(
        made(tmp_path / "runs", name, f"in a #sweep/{name}", loss=0.24681)
    ) as site:
        links = site.links()
        assert len(links) == 2
        for link in links:
            page, data = site.page(link), site.data(link)
            assert data["losses"][1]["points"] == [[100, 0.2468]]
            assert data["live"] == site.version(link)
            assert site.ask(link.rstrip("/")).headers["Location"] == link
        spoilt = tmp_path / "runs" / name / "config.json"
        spoilt.write_text("{")
        listed, reason = site.page(), site.page(links[0])
        assert "config.json is not valid JSON" in reason
        for text in (page, listed, reason):
            for markup in ("<img", "<script>alert", "<!--"):
                assert markup not in text
        assert "\u202e" not in said(listed) + said(reason)


def test_every_answer_forbids_what_the_pages_do_not_need(still):
    for path in (
        "/",
        "/version",
        "/run/plain/",
        "/run/plain",
        "/run/plain/data.json",
        "/no",
    ):
        headers = still.ask(path).headers
        policy = headers["Content-Security-Policy"].split("; ")
        (scripts,) = {part for part in policy if part.startswith("script-src ")}
        assert all(
            re.fullmatch(r"'sha256-[\w+/]{43}='", one) for one in scripts.split()[1:]
        )
        assert {
            *("default-src 'none'", scripts, "style-src 'unsafe-inline'"),
            *("img-src data: blob:", "connect-src 'self'", "base-uri 'none'"),
            *("form-action 'none'", "frame-ancestors 'none'"),
        } == set(policy)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "charset=utf-8" in headers["Content-Type"]
        assert "Server" not in headers


@pytest.mark.parametrize(
    "hosts",
    [
        *(
            ("evil.example",),
            ("evil.example:80",),
            ("127.0.0.1.evil",),
            ("localhost.evil",),
        ),
        *(
            ("0.0.0.0",),
            ("127.0.0.2",),
            ("",),
            (),
            ("localhost:x",),
            ("x@localhost",),
            ("[::1]",),
        ),
        *(
            ("localhost:1:2",),
            ("localhost", "evil.example"),
            ("localhost, evil.example",),
        ),
    ],
)
@pytest.mark.parametrize("path", ["/", "/run/plain/", "/run/plain/version"])
def test_a_name_that_was_made_to_lead_here_is_refused(still, hosts, path):
    answer = still.ask(path, hosts=hosts)
    assert answer.status == 403
    assert "plain" not in answer.text


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost:9", "127.0.0.1:8765"]
)
def test_this_machine_and_a_tunnel_to_it_are_answered(still, host):
    assert still.ask("/", hosts=(host,)).status == 200


@pytest.mark.parametrize(
    "method",
    ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"],
)
def test_other_methods_are_refused(site, method):
    answer = site.ask("/run/plain/", method)
    assert (answer.status, answer.text) == (501, f"Unsupported method ({method!r})\n")


def test_head_is_get_without_the_page(still):
    for path in ("/", "/version", "/run/plain/", "/no"):
        head, get = still.ask(path, "HEAD"), still.ask(path)
        assert (head.status, head.headers) == (get.status, get.headers)
        assert (head.text, int(head.headers["Content-Length"])) == (
            "",
            len(get.text.encode()),
        )


def test_two_hundred_at_once_are_answered(site):
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: site.ask("/version").status, range(200)))
    assert answers == [200] * 200


def test_who_sends_nothing_is_hung_up_on(site, monkeypatch):
    monkeypatch.setattr(server_module.Handler, "timeout", 0.3)
    with socket.create_connection(site.server.server_address[:2], timeout=10) as line:
        line.sendall(b"GET / HTTP/1.0\r\n")
        assert line.recv(1) == b""
    assert site.page()


def get(address, *headers, version=b"HTTP/1.1"):
    return b"\r\n".join(
        [b"GET " + address + b" " + version, b"Host: localhost", *headers, b"", b""]
    )


ANSWERED = {
    "address: whole": (get(b"http://localhost:1/run/plain/?x#y"), 404),
    "address: an authority": (get(b"localhost:80"), 404),
    "address: an asterisk": (get(b"*"), 404),
    "address: backslashes": (get(b"\\run\\plain"), 404),
    "address: half an escape": (get(b"/run/plain%/"), 404),
    "address: an escape of an escape": (get(b"/run/%2570lain/"), 404),
    "address: an escaped letter": (get(b"/run/%70lain/"), 200),
    "address: bytes that are no text": (get(b"/run/%ff%fe%00/"), 404),
    "method: unknown": (b"BREW / HTTP/1.1\r\n" + b"Host: localhost\r\n\r\n", 501),
    "version: 2": (get(b"/", version=b"HTTP/2.0"), 505),
    "line: without an end": (b"x" * 70_000, 414),
    "length: zero": (get(b"/", b"Content-Length: 0"), 200),
    "header: a host after a bare return": (get(b"/", b"X: a\rHost: evil.example"), 403),
    "header: two hosts": (get(b"/", b"Host: localhost"), 403),
    "header: very many": (get(b"/", *[b"X: y"] * 50_000), 431),
    "header: what is expected": (get(b"/", b"Expect: 100-continue"), 200),
    "body: another request": (get(b"/version") + get(b"/run/plain/"), 200),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_every_request_has_one_answer_of_the_right_status(still, name, capfd):
    request, status = ANSWERED[name]
    answer = still.sent(request)
    assert re.match(rb"HTTP/1\.0 %d [A-Z]" % status, answer), answer[:80]
    assert answer.count(b"HTTP/1.0 ") == 1
    head, _, body = answer.partition(b"\r\n\r\n")
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body) > 0
    assert b"Content-Security-Policy: " in head
    assert still.ask("/version").status == 200
    assert capfd.readouterr().err == ""


def test_what_goes_wrong_anywhere_is_an_answer(still, monkeypatch, capfd):
    def fails(*_):
        raise RecursionError("too <deep>\nTraceback")

    with monkeypatch.context() as patch:
        patch.setattr(watch.Watch, "find", fails)
        answers = [
            still.ask(path)
            for path in ("/", "/version", "/run/plain/", "/sweep/sweep/version")
        ]
    assert {one.status for one in answers} == {500}
    assert answers[-1].text == "RecursionError: too <deep>\n"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "address",
    [
        *(
            "/",
            "/version",
            "/data.json",
            "/run/plain/",
            "/run/plain/version",
            "/run/plain",
        ),
        *("/run/plain/data.json", "/run/" + "plain/" * 60, "/run/" + "no%2F" * 3_000),
        *("/sweep/sweep/", "/sweep/" + "sweep/" * 60, "/sweep/" + "sweep/" * 3_000),
        *("/compare/plain/sweep%2Fone/", "/compare/plain/sweep%2Fone"),
        *("/compare/" + "plain/x/" * 30, "/compare/" + "x/" * 3_000),
        *("/compare/" + "x%2Fy/" * 60 + "version", "/compare/" + "%61/" * 5_000),
    ],
    ids=lambda address: address[:30],
)
def test_no_address_costs_more_than_a_few_looks_at_the_folder(
    still, monkeypatch, address
):
    looks, look = [], watch.run_folders
    monkeypatch.setattr(watch, "run_folders", lambda *of: looks.append(of) or look(*of))
    still.ask(address)
    assert len(looks) <= 2
