"""`headway truncate` with a language model: what it writes, draws, and says of bad
input.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from tiny_texts import TEXTS, write

from commands import refused
from headway.terminal import cli


def test_the_command_truncates_draws_and_goes_on(folder, tmp_path, capsys, monkeypatch):
    path = write(tmp_path / "mine.jsonl", *(json.dumps(asdict(text)) for text in TEXTS))
    words = [
        "truncate",
        "--model",
        str(folder),
        "--layers",
        "0..1",
        "--weights",
        "mlp,down",
    ]
    words += [
        "--rank",
        "0,0.5,1",
        "--prompts",
        str(path),
        "--folder",
        str(tmp_path / "out"),
    ]
    cli.main([*words, "--threads", "1"])
    told = capsys.readouterr().out
    assert "cut 13 of 13" in told
    assert "one  n=4, intact: p(answer) 0." in told
    lines = [line for line in told.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    out = tmp_path / "out"
    kept = json.loads((out / "effects.json").read_text())
    assert len(kept["effects"]) == 2 * 13
    assert kept["numbers"][0] == "value"
    about = json.loads((out / "truncation.json").read_text())
    assert about["environment"]["threads"] == 1
    assert about["texts"][0] == asdict(TEXTS[0])
    drawn = sorted(path.name for path in out.glob("*.svg"))
    assert drawn == [
        f"{w}-{s}.svg" for w in ("down", "mlp") for s in ("alone", "upwards")
    ]
    lines = (out / "truncation.jsonl").read_bytes()
    again, save = [], "headway.report.figures.style.save_both"
    monkeypatch.setattr(save, lambda *figure: again.append(figure))
    cli.main(words)
    assert len(again) == len(drawn)
    assert "loading" not in capsys.readouterr().out
    assert (out / "truncation.jsonl").read_bytes() == lines
    both = [e for e in kept["effects"] if e["layers"] == [0, 1]]
    odds = {(e["weights"], e["kind"], e["fraction"]): e["log_odds"][0] for e in both}
    for kind in ("one", "two"):
        # What is read is not written.
        assert odds["mlp", kind, 0] == odds["down", kind, 0]
        assert odds["mlp", kind, 0.5] != odds["down", kind, 0.5]


def test_one_layer_and_the_intact_model_alone_are_drawn_too(folder, tmp_path, capsys):
    words = ["truncate", "--model", str(folder), "--prompts", "names", "--folder"]
    cli.main([*words, str(tmp_path / "one"), "--layers", "1", "--rank", "0.5"])
    assert {path.name for path in (tmp_path / "one").glob("*.svg")} == {"mlp-alone.svg"}
    cli.main([*words, str(tmp_path / "none"), "--rank", "1"])
    assert (
        len(json.loads((tmp_path / "none" / "effects.json").read_text())["effects"])
        == 1
    )
    assert "names  n=24" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--layers", "0..7"],
            "layers = 2 is not allowed: it must be a layer of the model",
        ),
        (
            ["--weights", "mlp,gate"],
            "weights = 'gate' is not allowed: it must be one that layer",
        ),
    ],
)
def test_what_the_model_does_not_have_is_told(folder, tmp_path, words, said):
    assert said in refused(
        "truncate", "--model", folder, "--folder", tmp_path / "out", *words
    )
    assert not (tmp_path / "out").exists()


ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/experiments/truncation.md").read_text()
KEPT = json.loads((ROOT / "results/truncation/smollm2.json").read_text())


def rows():
    """A row a kind: p(answer), p(generic) and the share said, intact and without some
    MLPs.
    """
    mlps = [
        e
        for e in KEPT["effects"]
        if (e["weights"], e["fraction"]) in (("mlp", 0), ("", 1))
    ]
    for kind in dict.fromkeys(effect["kind"] for effect in mlps):
        cells = [kind]
        for layers in ([], [28], [29]):
            (one,) = (e for e in mlps if (e["kind"], e["layers"]) == (kind, layers))
            cells += [f"{one[m][0]:.3f}" for m in ("answer", "generic")]
            cells.append(f"{one['says'][0]:.0%}")
        yield "| " + " | ".join(cells) + " |"


def test_the_table_in_the_docs_is_that_of_the_results():
    there = list(rows())
    assert len(there) == 5
    assert all(row in DOCS for row in there)


def test_results_tell_where_they_come_from():
    assert KEPT["model"] == "smollm2"
    assert KEPT["environment"]["torch"]
    assert "/" not in "".join(KEPT["environment"]["command"])
    assert {effect["fraction"] for effect in KEPT["effects"]} == set(KEPT["fractions"])
