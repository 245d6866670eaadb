"""Several runs at once in the browser: sweeps, runs side by side, and the list that leads there."""

import shutil

import pytest
from browser import Visit, faults
from serving import add_line, main_of, serving

from headway.training import Run


@pytest.fixture
def site(finished, tmp_path):
    """Three runs, two of them in a sweep."""
    for place in ("alone", "sweep/seed=1", "sweep/seed=2"):
        shutil.copytree(finished.folder, tmp_path / "runs" / place)
    with serving(tmp_path / "runs") as site:
        yield site


SIDE_BY_SIDE = "/compare/alone/sweep%2Fseed%3D2/"


@pytest.mark.parametrize(
    ("address", "links"),
    [
        ("/sweep/sweep/", ["/run/sweep/seed%3D1/", "/run/sweep/seed%3D2/"]),
        (SIDE_BY_SIDE, ["/run/alone/", "/run/sweep/seed%3D2/"]),
    ],
)
def test_several_runs_are_one_page_which_follows_them(site, address, links):
    page = site.page(address)
    assert all(f'href="{link}"' in page for link in links)
    assert f'<meta name="version" content="{site.version(address)}">' in page
    before = site.version(address)
    add_line(Run.open(site.folder / "sweep" / "seed=2"), 0.1234567)
    assert site.version(address) != before
    assert "0.1234567" in site.page(address)
    moved = site.ask(address.rstrip("/"))
    assert (moved.status, moved.headers["Location"]) == (301, address)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("/sweep/", "sweep"),
        ("/sweep/alone/", "sweep"),
        ("/sweep/sweep/seed%3D1/", "sweep"),
        ("/sweep/%2E%2E/", "sweep"),
        ("/compare/alone/", "comparison"),
        ("/compare/alone/alone/", "comparison"),
        ("/compare/alone/nowhere/", "comparison"),
        ("/compare/alone/..%2Fruns%2Falone/", "comparison"),
    ],
)
def test_what_is_no_run_of_the_folder_is_not_shown(site, address, what):
    answer = site.ask(address)
    assert (answer.status, answer.text) == (404, f"there is no such {what}\n")


def test_a_run_that_cannot_be_read_is_named_on_both_pages(site):
    (site.folder / "sweep" / "seed=2" / "config.json").write_text("{")
    for address in ("/sweep/sweep/", SIDE_BY_SIDE):
        assert "config.json is not valid JSON" in main_of(site.page(address))


def test_two_runs_that_are_ticked_are_compared_and_the_list_is_sorted(browser, site):
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.server.url)
    compare = page.locator("#compare")
    assert compare.is_disabled()
    for name in ("alone", "seed=2"):
        page.get_by_label(f"compare {name}").check()
    assert compare.text_content() == "compare 2"
    table = page.get_by_role("group", name="the runs of sweep")
    names = table.locator("tbody a")
    table.get_by_role("button", name="run").click()
    table.get_by_role("button", name="run").click()
    assert names.all_text_contents() == ["seed=2", "seed=1"]
    add_line(Run.open(site.folder / "sweep" / "seed=1"), 0.1234567)
    page.get_by_text("0.123").wait_for()
    assert names.all_text_contents() == ["seed=2", "seed=1"]
    assert compare.text_content() == "compare 2"
    compare.click()
    page.wait_for_url(f"**{SIDE_BY_SIDE}")
    page.go_back()
    page.get_by_role("link", name="sweep").click()
    page.wait_for_url("**/sweep/sweep/")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_on_the_list_keeps_some_from_using_it(browser, site, tmp_path, scheme):
    file = tmp_path / "list.html"
    file.write_text(site.page())
    seen = Visit(browser, file)
    for width in (390, 1280):
        seen.look(width, scheme)
        assert faults(seen) == []
    seen.context.close()
