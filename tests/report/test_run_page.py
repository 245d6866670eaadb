"""The page of a run: its data are those of the folder, and what is missing is said."""

import base64
import hashlib
import json
import math
import re
import shutil
from dataclasses import replace

import pytest
import torch
from pages import Page, numbers, page_data, report, said, unpacked
from serving import lengthened

from fuzz.runs import with_every_file
from headway.dynamics import Timeline
from headway.dynamics.dependence import Dependence
from headway.errors import HeadwayError
from headway.find import MinimalCircuits
from headway.judge import Certificate, saved_discovery, verdicts
from headway.judge.verdict import VERDICTS
from headway.models import attention_patterns
from headway.relations import AttentionPath
from headway.replace import ABLATIONS
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.report import Findings, write_report
from headway.report.circuit import path_key
from headway.report.curves import dated, points, short
from headway.report.examples import hundredths
from headway.report.heads import QK, SEQUENCES, parted
from headway.report.labels import typeset
from headway.report.page import html
from headway.report.run import run_page, verdicts_of
from headway.report.schema import to_json
from headway.training import Run, held_out


@pytest.mark.parametrize("live", ["", "a version"])
def test_the_page_is_whole_and_runs_its_own_script_only(run, live):
    text = html(run_page(Findings.of(run), live=live))
    page = Page(text)
    assert not page.open
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert {value for name, value in page.attributes if name in ("href", "src")} == {
        "data:,"
    }
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert re.findall(r"script-src ([^;]*);", text) == [f"'sha256-{digest}'"]
    assert ("connect-src 'self'" in text) == bool(live)
    data = page_data(text)
    assert data["live"] == live
    for line in data["summary"]:
        assert line in "".join(page.words)


def test_the_evidence_is_that_of_the_folder(run):
    data = page_data(report(run))
    evidence = run.read("circuit.json")["evidence"]
    costs = evidence["judgement"]["paths"]
    rows = []
    for necessity in evidence["necessity"]:
        cost = costs[necessity["path"]]
        worst = max(cost["changed"], cost["rise"])
        rows.append([necessity["attention"], worst, necessity["loss"]])
    assert [row[2:5] for row in data["evidence"]["rows"]] == rows


def test_all_numbers_of_the_folder_are_on_the_page(run):
    shown = numbers(page_data(report(run)))
    timeline = run.read("emergence.json")
    alone = run.read("circuit.json")["evidence"]["alone"]
    assert set(alone.values()) <= shown
    for path in timeline["paths"]:
        assert {path["emerged"], path["needed"]} - {None} <= shown
    assert set(timeline["hops"].values()) - {None} <= shown


def test_losses_and_steps_are_those_of_the_folder(run):
    data = page_data(report(run))
    losses = [[line["step"], short(line["partial"]["x_1"])] for line in run.metrics()]
    assert data["losses"][1]["points"] == losses
    assert data["steps"] == run.checkpoint_steps()


def keys_of(timeline):
    return [path_key(AttentionPath.parse(path["path"])) for path in timeline["paths"]]


def test_paths_are_those_of_the_folder(run):
    paths = page_data(report(run))["circuit"]["paths"]
    keys = keys_of(run.read("emergence.json"))
    assert [path["key"] for path in paths] == keys


@pytest.mark.parametrize(
    ("on_the_page", "end", "measured"),
    [("along", None, "attention"), ("without", -1, "loss_without")],
)
def test_every_path_has_the_curve_of_the_folder(run, on_the_page, end, measured):
    curves = page_data(report(run))[on_the_page][:end]
    timeline = run.read("emergence.json")
    assert [curve["key"] for curve in curves] == keys_of(timeline)
    for curve, path in zip(curves, timeline["paths"], strict=True):
        values = [value for _, value in curve["points"]]
        assert values == [short(value) for value in path[measured]]


def test_the_loss_of_the_model_is_the_last_curve(run):
    *_, model = page_data(report(run))["without"]
    timeline = run.read("emergence.json")
    losses = zip(timeline["steps"], timeline["loss"], strict=True)
    assert model["points"] == [[step, short(loss)] for step, loss in losses]


def test_a_path_is_marked_where_it_emerges_and_its_loss_where_it_is_needed(run):
    findings = Findings.of(run)
    paths = [
        replace(one, emerged=7.0 + i, needed=90.0 + i)
        for i, one in enumerate(findings.timeline.paths)
    ]
    timeline = replace(findings.timeline, paths=paths)
    along, (*without, model) = dated(timeline, findings.task)
    assert [curve.mark for curve in along] == [(path.emerged, 0.5) for path in paths]
    assert [curve.mark[0] for curve in without] == [path.needed for path in paths]
    assert model.mark is None


def test_maps_are_those_of_the_checkpoints(run):
    data = page_data(report(run))
    inputs = Findings.of(run).sequences.part(slice(8)).inputs
    attention = data["attention"]
    size = run.task.length
    shape = (8, len(attention["heads"]), size, size, len(attention["steps"]))
    maps = unpacked(attention["packed"], *shape).astype(int)
    for number, index in enumerate(attention["steps"]):
        patterns = attention_patterns(run.model(data["steps"][index]), inputs)
        expected = hundredths(patterns).flatten(1, 2).numpy()
        assert abs(maps[..., number] - expected).max() <= 1


def test_attention_along_paths_is_that_of_the_checkpoints(run):
    data = page_data(report(run))
    inputs = Findings.of(run).sequences.part(slice(8)).inputs
    paths = saved_discovery(run).circuit.paths
    for i, step in enumerate(data["steps"]):
        patterns = attention_patterns(run.model(step), inputs)
        for number, shown in enumerate(data["sequences"]):
            expected = []
            for path, drawn in zip(paths, data["circuit"]["paths"], strict=True):
                pattern = patterns[number, path.layer, path.head]
                for query, key in drawn["cells"][number]:
                    expected.append(int(hundredths(pattern[query, key])))
            along = unpacked(shown["along"], len(data["steps"]), len(expected))
            assert list(along[i]) == expected


def are_right(run, step, batch):
    """Whether every query is answered, with none and each path cut: [cut, sequence,
    query, hop].
    """
    paths = saved_discovery(run).circuit.paths
    cuts = [{path.at: KnockOut(frozenset({path.relation}))} for path in paths]
    with torch.no_grad():
        bench = Bench(run.model(step), run.task, batch)
        parts = [bench.outputs([{}, *cuts], part) for part in bench.parts]
    outputs = torch.cat(parts, 1)
    return torch.stack(
        [run.task.targets.right(said, batch.targets) for said in outputs]
    )


def test_answers_are_those_of_the_checkpoints(run):
    data = page_data(report(run))
    task = run.task
    batch = Findings.of(run).sequences.part(slice(8))
    steps = data["steps"]
    for i, step in enumerate(steps):
        right = are_right(run, step, batch)
        for number, shown in enumerate(data["sequences"]):
            questions = shown["questions"]
            size = len(right), len(steps), len(questions)
            told = unpacked(shown["answers"]["given"], *size)
            for j, question in enumerate(questions):
                query = question["position"] - task.length + task.n_read
                is_right = right[:, number, query, question["hop"]].tolist()
                assert [
                    answer == question["answer"] for answer in told[:, i, j]
                ] == is_right


def test_places_and_chains_are_those_of_the_roles(run):
    data = page_data(report(run))
    batch = Findings.of(run).sequences.part(slice(8))
    places = data["circuit"]["places"]
    for shown, roles in zip(data["sequences"], batch.roles, strict=True):
        pairs = zip(shown["places"], shown["chains"], strict=True)
        for position, (place, chain) in enumerate(pairs):
            role = run.task.roles.index(places[place]["role"])
            assert roles[role, chain] == position


def test_every_finding_is_on_the_page(run):
    with_every_file(run)
    data, words = page_data(report(run)), said(report(run))
    texts = [section["text"] for section in data["details"]]
    for kind in (Timeline, Certificate, MinimalCircuits, Dependence):
        assert str(run.load(kind)) in texts
    whole = str(saved_discovery(run)).splitlines()
    left_out = {
        line.partition(" ")[0] for line in whole if line not in texts[0].splitlines()
    }
    assert left_out >= {"enough", "complete", "nothing"}
    assert texts[0].splitlines()[-1] == whole[-1]
    assert run.sessions()[0]["python"] in words
    assert [row[0] for row in data["heads"]["rows"]] == ["L0.H0", "L1.H0"]


def scores_to_keys(run, path_at, edges, cache):
    """The mean score of a head to the keys of its relations, above that to other
    keys.
    """
    layer, head = path_at
    own = [path.relation for path in Findings.of(run).paths if path.at == path_at]
    masks = [edges[name].mask(run.task.length) for name in own]
    there = torch.stack(masks).any(0)
    raw = cache["attn_scores", layer][:, head]
    others = raw.isfinite() & ~there
    finite = raw.nan_to_num(neginf=0)
    to_keys = (finite * there).sum(-1) / there.sum(-1)
    to_others = (finite * others).sum(-1) / others.sum(-1)
    both = there.any(-1) & others.any(-1)
    return (to_keys - to_others)[both].mean().item()


def test_what_finds_a_key_is_parted_by_place_and_symbol(run):
    findings = Findings.of(run)
    batch = held_out(run.task, SEQUENCES, run.config.seed, "cpu", "emergence")
    _, cache = run.model(6).run_with_cache(batch.inputs)
    edges = run.task.edges(batch)
    heads = parted(findings)
    assert set(heads) == {path.at for path in findings.paths}
    for at, (scores, moved) in heads.items():
        expected = scores_to_keys(run, at, edges, cache)
        assert sum(scores) == pytest.approx(expected, abs=0.01)
        assert 0 < moved < 1


def test_the_parts_of_every_head_are_on_the_page(run):
    heads = parted(Findings.of(run))
    table = page_data(report(run))["heads"]
    assert table["head"][3:] == [*QK, "OV: symbol"]
    cells = [[*scores, moved] for scores, moved in heads.values()]
    assert [row[3:] for row in table["rows"]] == cells


@pytest.mark.parametrize("rows", sorted(set(ABLATIONS) - {"corrupted"}))
def test_the_ablation_is_named_where_there_are_losses(run, rows):
    circuit = run.read("circuit.json")
    run.write("circuit.json", {**circuit, "ablation": rows})
    words = said(report(run))
    assert f"({ABLATIONS[rows]})" in words
    assert f"every head replaced, {rows} rows: " in words
    assert not any(ABLATIONS[other] in words for other in set(ABLATIONS) - {rows})


def test_what_is_missing_names_its_command(unfinished, tmp_path):
    folder = shutil.copytree(unfinished.folder, tmp_path / "run")
    data = page_data(report(Run.open(folder)))
    assert data["circuit"] is None
    assert "headway circuit " in data["missing"]["circuit"]
    assert "emergence" not in data["missing"]
    assert data["sequences"]
    commands = [f"headway {verb} run" for verb in ("circuit", "emergence", "report")]
    again = data["again"].splitlines()
    assert again[:3] == commands


def test_without_dates_the_command_that_dates_is_named(run):
    run.remove("emergence.json")
    data = page_data(report(run))
    command = f"headway emergence {run.folder}"
    told = f"The circuit's paths are not dated yet: {command}"
    assert data["missing"] == {"emergence": told}
    assert data["along"] == []
    assert data["without"] == []


def test_every_verdict_is_shown_with_its_reason_and_what_is_next(finished):
    found = saved_discovery(finished)
    shown = verdicts_of(replace(Findings.of(finished), discovery=found))
    for data, verdict in zip(shown, verdicts(found), strict=True):
        assert data.next == (verdict.next and verdict.next.in_shell("run"))
        assert (data.name, data.holds) == (verdict.name, verdict.holds)
        assert data.because == typeset(verdict.because)


def test_the_headline_says_that_the_task_was_not_solved(run):
    assert "did not solve the task" in page_data(report(run))["summary"][0]


FREE = {"answers": 0.0, "sequences": 0.0, "changed": 0.0, "rise": 0.0}
COSTLY = {"answers": 0.8, "sequences": 1.0, "changed": 0.9, "rise": 0.5}


@pytest.fixture
def solved_run(run):
    """A run that solved its task by a circuit with all verdicts yes, by its files."""
    told = {"step": 99, "val_loss": 0.01, "partial": {"x_1": 0.01}}
    line = {**run.metrics()[-1], **told}
    outcome = {**run.outcome(), **told}
    lengthened(run, told["step"])
    run = Run.open(run.folder)
    run.append_metrics(line)
    run.write("outcome.json", outcome)
    with_costs(run, enough={"all else exchanged": FREE}, heads=[], rows={})
    paths = run.read("circuit.json")["evidence"]["judgement"]["paths"]
    with_costs(run, paths=dict.fromkeys(paths, COSTLY))
    return run


def with_costs(run, **costs):
    """Writes other costs into a run's circuit."""
    circuit = run.read("circuit.json")
    circuit["evidence"]["judgement"] |= costs
    run.write("circuit.json", circuit)


def test_the_page_shows_verdicts_and_costs_as_they_are_in_the_file(solved_run):
    data = page_data(report(solved_run))
    assert [v["name"] for v in data["verdicts"]] == [*VERDICTS]
    assert all(verdict["holds"] for verdict in data["verdicts"])
    assert "enough: yes; with all else exchanged" in " ".join(data["summary"])
    assert all(row[3] == 0.9 for row in data["evidence"]["rows"])


def headline_of(run):
    return page_data(report(run))["summary"][0]


def test_the_headline_counts_answers(solved_run):
    circuit = solved_run.read("circuit.json")
    ablated = circuit["evidence"]["likeness"]["ablated"]["agreement_by_hop"]
    ablated |= dict.fromkeys(ablated, 0.1239)
    solved_run.write("circuit.json", circuit)
    told = headline_of(solved_run)
    assert "attention paths alone keep 100 % of the model's answers, " in told
    assert ", against 12.3 % with every head ablated; " in told
    assert told.endswith("exchanging or cutting any one changes at least 80 % of them.")
    enough = {"all else exchanged": FREE | {"answers": 0.0204}}
    with_costs(solved_run, enough=enough)
    assert "alone keep 97.9 % of the model's answers" in headline_of(solved_run)


def test_the_model_s_own_accuracy_stands_by_the_task(solved_run):
    assert "right" not in page_data(report(solved_run))["task"]["reading"]  # vectors
    lines = solved_run.folder / "metrics.jsonl"
    *others, last = lines.read_text().splitlines()
    told = json.loads(last)
    told["accuracy"] = {"x_1": 0.9876}
    text = "\n".join([*others, json.dumps(told), ""])
    lines.write_text(text)
    reading = page_data(report(solved_run))["task"]["reading"]
    assert reading.endswith(" The model is right in 98.7 % of held-out answers.")


def test_the_headline_names_every_verdict_that_fails(solved_run):
    with_costs(solved_run, rows={"L0.H0": COSTLY})
    assert headline_of(solved_run).endswith("; the circuit is not complete.")
    with_costs(solved_run, enough={"all else exchanged": COSTLY})
    told = headline_of(solved_run)
    assert told.endswith("; the circuit is not enough and not complete.")
    paths = solved_run.read("circuit.json")["evidence"]["judgement"]["paths"]
    with_costs(solved_run, rows={}, paths=paths | dict.fromkeys([*paths][:1], FREE))
    told = headline_of(solved_run)
    assert told.endswith("is not enough and not without spare parts.")
    assert "any one" not in told


def test_a_verdict_that_is_close_to_its_limit_says_so_on_the_page(solved_run):
    with_costs(solved_run, enough={"all else exchanged": FREE | {"rise": 0.045}})
    verdicts = page_data(report(solved_run))["verdicts"]
    assert [verdict["is_close"] for verdict in verdicts] == [True, False, False]


def test_without_paths_nothing_is_to_be_dated(run):
    circuit = run.read("circuit.json")
    circuit["circuit"] = dict.fromkeys(circuit["circuit"], "uniform")
    circuit["evidence"] |= {"necessity": [], "trials": []}
    circuit["evidence"]["judgement"]["paths"] = {}
    run.write("circuit.json", circuit)
    timeline = run.read("emergence.json")
    for dates in (None, {**timeline, "paths": []}):
        run.remove("emergence.json")
        if dates is not None:
            run.write("emergence.json", dates)
        data = page_data(report(run))
        assert "emergence" not in data["missing"]
        titles = [section["title"] for section in data["details"]]
        assert "The circuit and the evidence for it" in titles
        assert "When its paths emerged" not in titles


def test_with_many_heads_the_maps_are_of_the_useful_ones(run, monkeypatch):
    monkeypatch.setattr("headway.report.findings.MOST_HEADS", 1)
    circuit = run.read("circuit.json")
    circuit["circuit"]["L0.H0"] = "uniform"
    necessity = circuit["evidence"]["necessity"]
    circuit["evidence"]["necessity"] = [
        n for n in necessity if not n["path"].startswith("L0.")
    ]
    judgement = circuit["evidence"]["judgement"]
    costs = judgement["paths"].items()
    judgement["paths"] = {
        path: cost for path, cost in costs if not path.startswith("L0.")
    }
    run.write("circuit.json", circuit)
    with pytest.raises(HeadwayError, match="is about another circuit"):
        report(run)
    timeline = run.read("emergence.json")
    timeline["paths"] = [
        p for p in timeline["paths"] if not p["path"].startswith("L0.")
    ]
    run.write("emergence.json", timeline)
    data = page_data(report(run))
    assert data["attention"]["heads"] == [[1, 0]]
    assert data["heads"]["rows"][0][:2] == ["L0.H0", "uniform"]


def test_a_certificate_of_another_circuit_is_refused(run):
    found = saved_discovery(run)
    other = found.circuit.without(found.circuit.paths[0])
    certificate = Certificate(other, found.ablation, 6, 0, 0.99, 0.95, 299, 299, 3)
    run.write("certificate.json", certificate.to_json())
    with pytest.raises(
        HeadwayError, match=r"certificate\.json is about another circuit"
    ):
        Findings.of(run)


def test_numbers_that_are_not_finite_are_null(finished):
    page = run_page(Findings.of(finished))
    odd = replace(page.losses[0], points=[(1, math.nan), (2, -math.inf), (3, 1.0)])
    text = to_json(replace(page, losses=[odd], title="</script><b>"))
    assert json.loads(text)["losses"][0]["points"] == [[1, None], [2, None], [3, 1.0]]
    assert points(odd.points) == [(3, 1.0)]
    assert "<" not in text


def test_a_folder_that_takes_no_files_is_one_clear_line(run):
    (run.folder / "report.html").mkdir()
    with pytest.raises(HeadwayError, match=r"report\.html"):
        write_report(run)
