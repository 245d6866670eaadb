"""`headway truncate` with a language model: what it writes, draws, and says of bad
input.
"""

import contextlib
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from tiny_texts import TEXTS, write

from commands import refused
from headway.terminal import cli


@dataclass(frozen=True)
class Truncated:
    """What a command wrote, into a folder and on the terminal."""

    out: Path
    words: list[str]
    told: str

    @property
    def effects(self):
        return read_json(self.out / "effects.json")

    @property
    def figures(self):
        return sorted(path.name for path in self.out.glob("*.svg"))


def read_json(path: Path):
    return json.loads(path.read_text())


def truncated(out: Path, *words: str) -> Truncated:
    """Truncate a model by the command line."""
    every = ["truncate", *words, "--folder", str(out)]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        cli.main(every)
    return Truncated(out, every, told.getvalue())


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """Two layers of a model, cut in two ways to three ranks."""
    place = tmp_path_factory.mktemp("whole")
    lines = [json.dumps(asdict(text)) for text in TEXTS]
    texts = write(place / "mine.jsonl", *lines)
    model = ["--model", str(folder), "--layers", "0..1", "--weights", "mlp,down"]
    rank = ["--rank", "0,0.5,1", "--prompts", str(texts), "--threads", "1"]
    return truncated(place / "out", *model, *rank)


def test_the_command_says_how_far_it_is_and_what_it_found(whole):
    assert "cut 13 of 13" in whole.told
    assert "one  n=4, intact: p(answer) 0." in whole.told
    place = str(whole.out.parent)
    lines = [line for line in whole.told.splitlines() if place not in line]
    assert max(map(len, lines)) <= 80


def test_effects_are_written(whole):
    assert len(whole.effects["effects"]) == 2 * 13
    assert whole.effects["numbers"][0] == "value"


def test_where_effects_come_from_is_written(whole):
    about = read_json(whole.out / "truncation.json")
    assert about["environment"]["threads"] == 1
    assert about["texts"][0] == asdict(TEXTS[0])


def test_weights_cut_alone_and_upwards_are_drawn(whole):
    down = ["down-alone.svg", "down-upwards.svg"]
    assert whole.figures == [*down, "mlp-alone.svg", "mlp-upwards.svg"]


def test_the_command_goes_on_where_nothing_is_left_to_do(whole, capsys, monkeypatch):
    path = whole.out / "truncation.jsonl"
    before = path.read_bytes()
    drawn = []
    save = "headway.report.figures.style.save_all"
    monkeypatch.setattr(save, lambda *figure: drawn.append(figure))
    cli.main(whole.words)
    assert len(drawn) == len(whole.figures)
    assert "loading" not in capsys.readouterr().out
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["one", "two"])
def test_without_the_weights_that_write_an_mlp_writes_nothing(whole, kind):
    odds = {}
    for effect in whole.effects["effects"]:
        if effect["layers"] == [0, 1] and effect["kind"] == kind:
            odds[effect["weights"], effect["fraction"]] = effect["log_odds"][0]
    assert odds["mlp", 0] == odds["down", 0]
    assert odds["mlp", 0.5] != odds["down", 0.5]


def test_one_layer_is_drawn_alone(folder, tmp_path):
    words = ["--model", str(folder), "--prompts", "names", "--layers", "1"]
    one = truncated(tmp_path / "one", *words, "--rank", "0.5")
    assert one.figures == ["mlp-alone.svg"]


def test_the_intact_model_alone_has_one_effect(folder, tmp_path):
    words = ["--model", str(folder), "--prompts", "names"]
    intact = truncated(tmp_path / "none", *words, "--rank", "1")
    assert len(intact.effects["effects"]) == 1
    assert "names  n=24" in intact.told


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
    out = tmp_path / "out"
    complaint = refused("truncate", "--model", folder, "--folder", out, *words)
    assert said in complaint
    assert not out.exists()


ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/experiments/truncation.md").read_text()
KEPT = read_json(ROOT / "results/truncation/smollm2.json")


def rows():
    """A row a kind: p(answer), p(generic) and the share said, intact and without some
    MLPs.
    """
    effects = {}
    for effect in KEPT["effects"]:
        if (effect["weights"], effect["fraction"]) in (("mlp", 0), ("", 1)):
            of_kind = effects.setdefault(effect["kind"], {})
            of_kind[tuple(effect["layers"])] = effect
    for kind, by_layers in effects.items():
        cells = [kind]
        for layers in ((), (28,), (29,)):
            effect = by_layers[layers]
            cells.append(f"{effect['answer'][0]:.3f}")
            cells.append(f"{effect['generic'][0]:.3f}")
            cells.append(f"{effect['says'][0]:.0%}")
        yield "| " + " | ".join(cells) + " |"


def test_the_table_in_the_docs_is_that_of_the_results():
    there = list(rows())
    assert len(there) == 5
    for row in there:
        assert row in DOCS


def test_results_tell_where_they_come_from():
    assert KEPT["model"] == "smollm2"
    assert KEPT["environment"]["torch"]
    assert "/" not in "".join(KEPT["environment"]["command"])
    assert {effect["fraction"] for effect in KEPT["effects"]} == set(KEPT["fractions"])
