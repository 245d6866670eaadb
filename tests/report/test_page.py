"""What the page of a run says."""

import html
import re
import shlex
import shutil
from pathlib import Path as FilePath

import pytest
from pages import Page, report
from tiny_runs import tiny_config

from headway.circuits import Path
from headway.errors import HeadwayError
from headway.report import write_report
from headway.report.findings import Findings
from headway.report.page.html import command, named
from headway.report.page.render import render
from headway.tasks import Conditional, Retrieval
from headway.text import rounded
from headway.training import Run
from headway.training.files import write_json

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


def test_the_page_has_all_figures(run):
    text = report(run)
    assert re.findall('<figure data-name="(.*?)"', text) == ["circuit", "birth", "attention"]
    for path in run.read("emergence.json")["paths"]:
        at = Path.parse(path["path"])
        name = f"layer {at.layer} head {at.head} {at.relation}"
        assert f'role="button" aria-pressed="false" aria-label="{name}' in text


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


def test_heads_without_a_path_come_with_what_they_cost(run):
    circuit = run.read("circuit.json")
    circuit["heads"]["L0.H0"] = "uniform"
    alone = circuit["evidence"]["alone"]
    assert list(alone) == ["L0.H0", "L1.H0"]
    circuit["evidence"]["necessity"] = circuit["evidence"]["necessity"][1:]
    run.write("circuit.json", circuit)
    (run.folder / "emergence.json").unlink()
    assert f'<td><em>uniform</em></td><td><data value="{alone["L0.H0"]!r}">' in report(run)


def test_hops_that_were_not_learnt_are_in_no_order(run):
    timeline = run.read("emergence.json")
    timeline["hops"] = dict.fromkeys(timeline["hops"])
    timeline["in_chain_order"] = None
    run.write("emergence.json", timeline)
    assert "No hop was learnt." in report(run)


def test_births_say_when_a_path_was_felt_and_needed(run):
    timeline = run.read("emergence.json")
    timeline["steps"], timeline["loss"] = [0, 10, 20, 30], [1.0, 0.9, 0.5, 0.1]
    for path in timeline["paths"]:
        path |= {"attention": [0.0, 0.2, 0.8, 0.9], "born": 15.0}
        path |= {"loss_without": [1.0, 0.9, 0.5, 0.11], "needed": None}
    timeline["paths"][0] |= {"loss_without": [1.0, 0.94, 0.9, 0.9], "needed": 22.5}
    run.write("emergence.json", timeline)
    html = report(run)
    rows = re.findall("<tr>(.*?)</tr>", html[html.index('aria-label="paths of the circuit"') :])
    head = re.findall("<th.*?>(.*?)</th>", rows[0])
    some = [head.index(name) for name in ("born", "felt from", "needed from", "largest rise")]
    cells = [re.findall("<td.*?>(.*?)</td>", row) for row in rows[1 : 1 + len(timeline["paths"])]]
    cells = [[re.sub("<[^>]*>", "", row[at]) for at in some] for row in cells]
    assert sorted(cells)[0] == ["15", "5", "22", "+0.800"]
    assert sorted(cells)[1:] == [["15", "never", "never", "+0.0100"]] * (len(cells) - 1)
    assert "attention along the path set to zero, all else as it is" in html.replace("\n", " ")


def test_the_way_to_the_answer_is_told_from_the_paths(run):
    circuit = run.read("circuit.json")
    circuit["heads"] = {"L0.H0": ["s2←s1"], "L1.H0": ["s0←s2"]}
    circuit["evidence"] |= {"trials": [], "infeasible": []}
    necessity = circuit["evidence"]["necessity"]
    necessity[1:] = [{**necessity[2], "path": "L1.H0 s0←s2"}]
    run.write("circuit.json", circuit)
    (run.folder / "emergence.json").unlink()
    words = "".join(Page(report(run)).words)
    assert "A chain. x1 reaches the query along L1.H0 s0←s2, found by x0." in words
    circuit["heads"]["L0.H0"] = "uniform"
    circuit["evidence"]["necessity"] = necessity[1:]
    run.write("circuit.json", circuit)
    words = "".join(Page(report(run)).words)
    assert "found by x0" not in words


def test_branches_are_told_from_the_paths(other, tmp_path):
    run = copy(other, tmp_path)
    words = "".join(Page(report(run)).words)
    assert "branches that join" not in words
    if not isinstance(run.task, Conditional):
        return
    circuit = run.read("circuit.json")
    relations = [
        ["ax.x←ax.a", "ay.y←ay.a", "xy.z←xy.x", "xy.z←xy.y"],
        ["a←ax.x"],
        ["a←ay.y"],
        ["a←xy.z"],
    ]
    circuit["heads"] = {f"L{i}.H0": names for i, names in enumerate(relations)}
    template = circuit["evidence"]["necessity"][0]
    circuit["evidence"]["necessity"] = [
        {**template, "path": f"L{i}.H0 {name}"}
        for i, names in enumerate(relations)
        for name in names
    ]
    run.write("circuit.json", circuit)
    (run.folder / "emergence.json").unlink()
    with pytest.raises(HeadwayError, match="another model"):
        report(run)
    config = run.read("config.json")
    config["model"]["n_layers"] = 4
    run.write("config.json", config)
    shutil.rmtree(run.folder / "checkpoints")
    words = "".join(Page(report(Run.open(run.folder))).words)
    assert (
        "Two branches that join. x comes along L0.H0 ax.x←ax.a, L1.H0 a←ax.x; y comes along"
        " L0.H0 ay.y←ay.a, L2.H0 a←ay.y. They meet at L3.H0 a←xy.z, which is found by x and"
        " y together and brings z. The place they meet at is made ready by L0.H0 xy.z←xy.x,"
        " L0.H0 xy.z←xy.y."
    ) in words
    assert "Bands: the branches of x and y" in words


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


def test_a_run_without_evaluations_or_checkpoints_still_reports(unfinished, tmp_path):
    run = copy(unfinished, tmp_path)
    for name in ("metrics.jsonl", "outcome.json", "environment.json"):
        (run.folder / name).unlink()
    shutil.rmtree(run.folder / "checkpoints")
    text = report(run)
    assert "no evaluation yet" in text
    assert not Page(text).open


def test_a_failed_run_says_why(unfinished, tmp_path):
    run = copy(unfinished, tmp_path)
    run.write("outcome.json", {"status": "failed", "message": "the loss is nan", "step": 6})
    assert "Training failed: the loss is nan" in report(run)


@pytest.mark.parametrize(
    ("val_loss", "said"), [(0.9, "was not solved"), (0.01, "The task was solved")]
)
def test_the_verdict_follows_the_loss(run, val_loss, said):
    ended_with(run, val_loss)
    assert said in report(run)


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


def test_a_circuit_without_paths_explains_nothing(run):
    solved(run)
    circuit = run.read("circuit.json")
    circuit["heads"] = dict.fromkeys(circuit["heads"], "uniform")
    circuit["evidence"]["necessity"] = []
    run.write("circuit.json", circuit)
    (run.folder / "emergence.json").unlink()
    assert "explains nothing" in report(run)


def test_odd_values_are_escaped(run):
    evil = "<script>alert('1')</script>"
    run.write("environment.json", [{"processor": evil, "command": ["headway", evil]}])
    circuit = run.read("circuit.json")
    circuit["evidence"]["trials"][0]["sample"] = evil
    run.write("circuit.json", circuit)
    text = report(run)
    assert evil not in text
    assert "another (&lt;script&gt;" in text
    assert not Page(text).open


def test_other_tasks_and_models_report_too(other, tmp_path):
    run = copy(other, tmp_path)
    page = Page(report(run))
    assert not page.open
    words = " ".join(page.words)
    assert ("causal mask" if run.config.model.causal else "no mask") in words


def test_the_same_folder_gives_the_same_page(run):
    assert report(run) == report(run)


def test_a_corrupted_circuit_is_one_clear_line(run):
    (run.folder / "circuit.json").write_text("{")
    with pytest.raises(HeadwayError, match=r"circuit\.json is not valid JSON"):
        write_report(run)


def test_a_folder_that_takes_no_files_is_one_clear_line(run):
    (run.folder / "report.html").mkdir()
    with pytest.raises(HeadwayError, match=r"report\.html"):
        write_report(run)


def test_names_get_subscripts():
    assert named("s2←s10 <x_1>") == "s<sub>2</sub>←s<sub>10</sub> &lt;x<sub>1</sub>&gt;"


def test_what_the_query_holds_along_the_circuit(run):
    found = run.read("circuit.json")
    page = write_report(run).read_text()
    assert "symbols at the query, along the circuit" in page
    assert "<td>fewest attention paths that any circuit can have</td><td>2</td>" in page
    assert "breaks the flow" not in page
    heads = {**found["heads"], "L0.H0": ["s0←s2"]}
    write_json(run.folder / "circuit.json", {**found, "heads": heads})
    (run.folder / "emergence.json").unlink()
    assert "The circuit breaks the flow at" in write_report(run).read_text()


def test_a_run_that_failed_before_its_first_evaluation_says_why(tmp_path):
    run = Run.create(tmp_path / "run", tiny_config(Retrieval(depth=1, n_chains=2)))
    run.fail("out of memory at step 1")
    assert "Training failed: out of memory at step 1" in render(Findings.of(run))
