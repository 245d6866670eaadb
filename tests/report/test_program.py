"""The program of a circuit, kept in a run's folder and shown on its page."""

import runpy
import shutil

import numpy as np
import pytest
import torch
from browser import faults
from pages import page_data, written

from headway import Circuit, Run, discover, program
from headway.programs.written import WrittenProgram
from headway.report import Findings
from headway.report.run import run_page


@pytest.fixture(scope="module")
def read(solved, tmp_path_factory):
    """A run that learnt a hop, with the program that was read of it."""
    folder = tmp_path_factory.mktemp("read")
    run = Run.open(shutil.copytree(solved.folder, folder / "run"))
    judged = program(run, circuit=discover(run, trials=False))
    return run, judged


@pytest.fixture(scope="module")
def page(read, tmp_path_factory):
    """The page of that run."""
    run, _ = read
    return written(run, tmp_path_factory.mktemp("page"))


def test_a_runs_folder_keeps_the_program_of_its_circuit(read):
    run, judged = read
    kept = run.load(WrittenProgram)
    assert kept.code == judged.program.text
    assert kept.verdict == judged.verdict
    assert kept.is_models == (judged.does_match and judged.does_follow)
    assert str(kept).splitlines()[-len(kept.measured) :] == kept.measured


def test_the_program_of_another_circuit_is_not_kept(read, tmp_path):
    run, _ = read
    copy = Run.open(shutil.copytree(run.folder, tmp_path / "run"))
    copy.remove(WrittenProgram.FILE)
    discovery = discover(copy, trials=False)
    mechanisms = dict(discovery.circuit.mechanisms)
    mechanisms[max(mechanisms)] = mechanisms[min(mechanisms)]
    program(copy, circuit=Circuit(mechanisms))
    assert not (copy.folder / WrittenProgram.FILE).exists()


def test_a_page_without_a_program_has_no_section_for_it(finished):
    assert run_page(Findings.of(finished)).program is None


def test_the_page_shows_the_program_with_its_verdict(read, page, visit):
    _, judged = read
    section = visit(page).page.locator("section[aria-labelledby=program]")
    assert section.locator("pre").inner_text() == judged.program.text
    told = section.inner_text()
    assert judged.verdict in told
    assert f"matches {judged.matches:.3f} of 400 sequences" in told
    data = page_data(page.file.read_text(encoding="utf-8"))
    assert "--program" in data["again"]


def test_the_pages_file_of_a_program_gives_the_models_answers(
    read, page, visit, tmp_path
):
    run, judged = read
    visit(page).kept("program as a Python file, for numpy alone", tmp_path)
    (file,) = tmp_path.glob("*.py")
    answers = runpy.run_path(str(file))["program"]
    batch = run.task.sample(20, torch.Generator().manual_seed(1))
    told = answers(batch.inputs.numpy())[:, -run.task.n_read :]
    right = np.isclose(told, batch.targets.numpy()).all(-1)
    assert right.mean() >= judged.matches - 0.1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_a_page_with_a_program_has_no_faults_of_access(page, visit, width, scheme):
    seen = visit(page, color_scheme=scheme, viewport={"width": width, "height": 720})
    across = seen.page.evaluate("document.documentElement.scrollWidth")
    assert across <= width
    assert faults(seen) == []


def test_a_program_of_another_circuit_is_told_as_a_fault(read, tmp_path):
    from headway.dynamics.whole import faults_of

    run, _ = read
    copy = Run.open(shutil.copytree(run.folder, tmp_path / "run"))
    assert not faults_of(copy.folder)
    kept = copy.load(WrittenProgram).to_json()
    heads = kept["circuit"]
    first, last = min(heads), max(heads)
    heads[first], heads[last] = heads[last], heads[first]
    copy.save(WrittenProgram.from_json(kept))
    (fault,) = faults_of(copy.folder)
    assert "program.json" in fault
    assert "headway circuit --program" in fault
