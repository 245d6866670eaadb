"""What the page of a run says."""

import html
import re
import shlex
import shutil
from pathlib import Path as FilePath

import pytest
from pages import Page, report, words_of

from fuzz.runs import with_every_file
from headway.circuits import Certificate, MinimalCircuits
from headway.errors import HeadwayError
from headway.report import write_report
from headway.report.page.html import command
from headway.text import rounded
from headway.training import Run

MEASURED = ("attention", "loss", "free", "uniform")


def copy(run, tmp_path):
    return Run.open(shutil.copytree(run.folder, tmp_path / "run"))


def test_the_page_is_whole_and_needs_no_network(run):
    text = report(run)
    page = Page(text)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    for resource in page.resources:
        assert resource.startswith(("#", "data:")), resource
        assert resource[0] != "#" or resource[1:] in page.ids
    assert not re.search(r"url\(\s*['\"]?(?!#|data:)", text)
    assert "@import" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_the_numbers_are_those_of_the_folder(run):
    text = report(run)
    last, circuit = run.metrics()[-1], run.read("circuit.json")
    timeline = run.read("emergence.json")
    expected = [
        last["val_loss"],
        *circuit["evidence"]["intact"].values(),
        *circuit["evidence"]["replaced"].values(),
        *circuit["evidence"]["variants"].values(),
        *(n[key] for n in circuit["evidence"]["necessity"] for key in MEASURED),
        *(path["needed"] for path in timeline["paths"] if path["needed"] is not None),
        *(path["born"] for path in timeline["paths"] if path["born"] is not None),
        *(step for step in timeline["hops"].values() if step is not None),
    ]
    for value in expected:
        assert f'value="{value!r}"' in text
    for interval in ("interval", "intact_interval"):
        low, high = map(rounded, circuit["evidence"][interval])
        assert f"({low} to {high})" in text


def test_every_finding_is_on_the_page(run):
    with_every_file(run)
    words = words_of(report(run))
    every, certificate = run.load(MinimalCircuits), run.load(Certificate)
    assert every is not None
    assert certificate is not None
    assert f"{len(every.circuits)} minimal circuit" in words
    assert f"of {certificate.sequences} fresh sequences agree" in words
    assert "Dependence" in words


def test_a_command_can_be_pasted_into_a_shell():
    odd = FilePath("runs/it's 1; ls")
    said = html.unescape(command(odd, "circuit")).removeprefix("<code>").removesuffix("</code>")
    assert shlex.split(said) == ["headway", "circuit", str(odd)]
    assert (
        command(FilePath("runs/a,seed=1"), "report") == "<code>headway report runs/a,seed=1</code>"
    )


def test_what_is_missing_names_its_command(unfinished, tmp_path):
    text = report(copy(unfinished, tmp_path))
    assert "headway circuit run" in text
    assert "headway emergence run" in text
    assert not Page(text).open
    assert '<svg class="circuit"' not in text


def ended_with(run, loss):
    told = {"step": 99, "val_loss": loss, "partial": {"x_1": loss}}
    line, outcome = {**run.metrics()[-1], **told}, {**run.outcome(), **told}
    run.append_metrics(line)
    run.write("outcome.json", outcome)


def solved(run):
    ended_with(run, 0.01)


def test_the_verdict_names_what_of_the_certificate_fails(run):
    solved(run)
    assert "but the circuit is not" in report(run)  # trained by nothing, it is not necessary
    circuit = run.read("circuit.json")
    circuit["threshold"] = max(1.01 * circuit["loss"]["replaced"], 0.001)
    for n in circuit["evidence"]["necessity"]:
        n["loss"] = 20.0
    circuit["evidence"] |= {"droppable": [], "trials": [], "infeasible": []}
    run.write("circuit.json", circuit)
    text = report(run)
    assert "heads are enough: with every head replaced" in text
    assert "but the circuit is not" not in text


def test_the_same_folder_gives_the_same_page(run):
    assert report(run) == report(run)


def test_a_folder_that_takes_no_files_is_one_clear_line(run):
    (run.folder / "report.html").mkdir()
    with pytest.raises(HeadwayError, match=r"report\.html"):
        write_report(run)
