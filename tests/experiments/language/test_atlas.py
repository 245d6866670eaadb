"""The atlas of a model's heads on text."""

import itertools
import json

import pytest
import torch
from tiny_model import save_tiny_model

from headway import HeadwayError
from headway.models import tapped
from headway.training.files import read_json
from headway_experiments.language import LocalModel
from headway_experiments.language.atlas import atlas as atlas_of
from headway_experiments.language.atlas import page_of, texts_of
from headway_experiments.language.atlas.candidates import (
    CLASSES,
    composed,
    masks_of,
    relations_of_text,
    tried_on,
)
from headway_experiments.language.atlas.costs import (
    at_random,
    attention_of,
    cheapest,
    first_order,
    losses,
    replaced,
)
from headway_experiments.language.atlas.fitting import (
    Fitting,
    Sample,
    iou_off,
    shared_out,
    shares_of,
    with_rest,
)
from headway_experiments.language.atlas.scores import score
from headway_experiments.language.atlas.sinks import SinkTokens, sinks_in
from headway_experiments.verbs.language import atlas as verb

LINES = [f"Line {n} of it, a text. Go {n}, he says to the man." for n in range(80)]
VOCABULARY = [" the", " man", ".", "\n", " runs", " He", ",", " of", " 7", " dog"]


def read(token):
    return VOCABULARY[token]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(str(tmp_path_factory.mktemp("model")), template=None)


@pytest.fixture(scope="module")
def local(folder):
    return LocalModel(folder, "completion")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "own.txt"
    path.write_text("\n".join(LINES))
    return path


@pytest.fixture(scope="module")
def tokens():
    generator = torch.Generator().manual_seed(0)
    return torch.randint(len(VOCABULARY), (24, 16), generator=generator)


def test_texts_do_not_overlap_and_no_text_is_in_both_parts(local, file):
    texts = texts_of(local, file, 16, 16, seed=0)
    whole = file.read_text()
    parts = [local.tokenizer.decode(ids) for ids in [*texts.fit, *texts.judge]]
    starts = sorted(whole.index(part) for part in parts)
    assert len(parts) == 76
    assert all(b - a >= 16 for a, b in itertools.pairwise(starts))
    other = texts_of(local, file, 16, 16, seed=1)
    assert not torch.equal(texts.fit, other.fit)


def test_the_words_lead_where_they_say(tokens):
    at = composed(torch.tensor([[0, 1, 2, 5, 4, 0, 1]]), read)  # the man. He runs ...
    assert set(at.given) == {*CLASSES, "same word", "end of a word"}
    assert at.mask("latest full stop")[0, 4].nonzero().tolist() == [[2]]
    assert at.mask("after same word")[0, 6].nonzero().tolist() == [[2]]
    assert at.mask("since latest full stop")[0, 5].nonzero().flatten().tolist() == [
        *(2, 3, 4, 5)
    ]
    rows = at.mask("previous token for queries of article")[0].any(1).nonzero()
    assert rows.flatten().tolist() == [5]
    names = list(relations_of_text())
    assert len(set(names)) == len(names)
    assert [str(at.parse(name)) for name in names] == names


def test_a_token_that_all_heads_rest_on_is_found(tokens):
    at = composed(tokens, read)
    attention = torch.full((24, 4, 16, 16), 0.02) * at.seen[:, None]
    planted = SinkTokens((3,), (10.0,))
    attention += 0.3 * planted.further(at)[:, None]
    assert sinks_in(attention, at).tokens == (3,)
    assert sinks_in(torch.ones(24, 4, 16, 16) * at.seen[:, None], at).tokens == ()


@pytest.mark.parametrize(
    "planted", ["latest full stop", "since latest line break", "3 back"]
)
def test_planted_words_are_found_and_tell_other_texts(tokens, planted):
    none = SinkTokens((), ())
    at = composed(tokens, read)
    sample = Sample.of(at, none)
    names, masks = tried_on(at)
    first = torch.full((1, 24, 16, 1), 0.4)
    first[:, :, 0] = 1
    weights = torch.zeros(1, len(sample.base) + 1)
    weights[0, [0, -1]] = torch.tensor([0.5, 3.0])

    def attends(at, sample):
        features = sample.features(1, masks_of([planted], at), torch.tensor([[0]]))
        return with_rest(shared_out(weights, features, sample), first)

    words = Fitting(sample, masks).fit(attends(at, sample))
    other = composed(tokens.flip(0, 1), read)
    unseen = Sample.of(other, none)
    told = with_rest(shares_of(words, masks_of(names, other), unseen), first)
    assert iou_off(attends(other, unseen), told, unseen) > 0.95
    assert planted in [names[number] for number in words.chosen[0]]


def test_the_score_of_a_pattern_with_itself_is_one(tokens):
    sample = Sample.of(composed(tokens, read), SinkTokens((0,), (5.0,)))
    even = sample.at.seen / sample.at.seen.sum(-1, keepdim=True)
    attention = even.expand(2, 3, *even.shape)
    own = score(attention, lambda layer: attention[layer], sample, 0)
    assert own.whole == pytest.approx(1) == own.off
    first = torch.zeros(16, 16)
    first[:, 0] = 1
    rest = score(attention, lambda _: first, sample, 0)
    assert rest.off == 0 < rest.whole < 0.5


def test_costs_are_what_a_small_change_costs(local, file):
    texts = texts_of(local, file, 16, 16, seed=0)
    model = tapped(local.model, texts.fit[:2])
    attention = attention_of(model, texts.fit, lambda: None)
    even = torch.ones(16, 16).tril()
    even[:, 0] = 0
    shares = even / even.sum(-1, keepdim=True).clamp(min=1)
    shares = shares.expand(attention.shape)
    costs = first_order(model, texts.fit, {"even": shares}, lambda: None)["even"]
    small = 1e-3

    def moved(layer, pattern):
        told = with_rest(shares[layer].transpose(0, 1), pattern[..., :1])
        is_it = torch.zeros(2)[:, None, None]
        is_it[1] = small
        return pattern + (layer == 1) * is_it * (told - pattern)

    with torch.no_grad():
        change = losses(model, texts.fit, moved) - losses(model, texts.fit)
    assert torch.allclose(change / small, costs[1, 1], atol=0.02, rtol=0.1)
    nothing = replaced(
        model, texts.fit, shares, torch.zeros(2, 2, dtype=torch.bool), lambda: None
    )
    assert torch.allclose(nothing, losses(model, texts.fit), atol=1e-5)


def test_the_cheapest_heads_are_those_whose_costs_are_small():
    costs = torch.tensor([[[3.0, -3.0], [0.1, 0.1]], [[0.2, 0.0], [1.0, 1.0]]])
    heads = cheapest(costs, 0.5)
    assert heads.tolist() == [[False, True], [True, False]]
    assert at_random(heads, 0).sum() == 2


def test_the_verb_leaves_a_map_and_says_what_stands_beside_it(
    folder, file, tmp_path, capsys
):
    verb(folder, text=file, texts=16, tokens=16, folder=tmp_path / "made")
    shown = capsys.readouterr().out
    assert "4 heads on 16 unseen texts of 16 tokens (own.txt; seed 0)" in shown
    assert "first position only" in shown
    assert "50% of the heads, at random: words" in shown
    kept = read_json(tmp_path / "made" / "atlas.json")
    assert [entry["head"] for entry in kept["heads"]] == [
        *("L0.H0", "L0.H1", "L1.H0", "L1.H1")
    ]
    assert all(0 <= entry["iou_off"] <= 1 for entry in kept["heads"])
    page = (tmp_path / "made" / "atlas.html").read_text()
    assert json.dumps(kept["heads"][0]["sentence"], ensure_ascii=False) in page
    assert "http" not in page


def test_a_token_cannot_end_the_script_of_a_page(local, file):
    made = atlas_of(local, texts_of(local, file, 8, 16, seed=0))
    made.shown[0].tokens[0] = "</script><b>"
    assert "</script><b>" not in page_of(made)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"texts": 500},
            r"texts = 500 is not allowed: it must be at most \d+: own.txt",
        ),
        ({"texts": 4}, "texts = 4 is not allowed: it must be from 8"),
        ({"tokens": 5}, "tokens = 5 is not allowed"),
        ({"text": "missing.txt"}, "missing.txt"),
        ({"text": "bytes"}, "is not plain text in UTF-8"),
        ({"threads": 0}, "threads = 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(folder, file, tmp_path, options, said):
    asked = {"text": file, "tokens": 16} | options
    if asked["text"] == "bytes":
        asked["text"] = tmp_path / "bytes"
        asked["text"].write_bytes(b"\xff\xfe\x00")
    if asked["text"] == "missing.txt":
        asked["text"] = tmp_path / "missing.txt"
    with pytest.raises(HeadwayError, match=said) as raised:
        verb(folder, **asked, folder=tmp_path / "made")
    assert "\n" not in str(raised.value)
