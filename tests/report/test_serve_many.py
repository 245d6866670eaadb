"""Several runs at once in the browser: sweeps, runs side by side, and the list that leads there."""

import pytest
from pages import numbers, said
from serving import SIDE_BY_SIDE, add_line

from headway.training import Run


@pytest.mark.parametrize(
    ("address", "links"),
    [
        ("/sweep/sweep/", ["/run/sweep/seed%3D1/", "/run/sweep/seed%3D2/"]),
        (SIDE_BY_SIDE, ["/run/alone/", "/run/sweep/seed%3D2/"]),
    ],
)
def test_several_runs_are_one_page_which_follows_them(site, address, links):
    data, before = site.data(address), site.version(address)
    assert [one["link"] for one in data["members"]] == links
    assert data["live"] == before
    add_line(Run.open(site.folder / "sweep" / "seed=2"), 0.125)
    assert site.version(address) != before
    assert 0.125 in numbers(site.data(address))
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
        assert "config.json is not valid JSON" in said(site.page(address))
