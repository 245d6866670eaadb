"""Language models with weights cut to low rank: odds, what is kept, and the verb."""

import json
import math

import pytest
import torch
from tiny_model import LETTERS, save_tiny_model
from transformers import (
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from headway import cli
from headway.errors import HeadwayError
from headway.language.local import LocalModel
from headway.language.truncation.completing import Completer, Odds
from headway.language.truncation.completions import MADE, Completion, completions, read_completions
from headway.language.truncation.effects import effects
from headway.language.truncation.matrices import layers_of, matrices
from headway.language.truncation.replay import Replay
from headway.language.truncation.truncating import Line, Truncating, truncate, truncated
from headway.models.truncation import INTACT, Cut, Truncation


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder):
    return LocalModel(str(folder), "completion")


TEXTS = (
    Completion("one", "Madrid is located in", "Spain", "the"),
    Completion("one", "Lima is in", "Peru", "a town"),
    Completion("one", "Lima is ", "that", "the"),
    Completion("one", "Lima is", "Perus", "Peru a"),
    Completion("two", "2 and 2 is", "4", "the sum of both"),
    Completion("two", "It is", " 4", " 5 or so"),
)


def test_the_odds_are_those_of_whole_texts(model):
    """Text by text, without filling up, against the model's own loss."""
    found = Completer(model, TEXTS)()
    for text, odds in zip(TEXTS, found, strict=True):
        start = len(model.tokenizer(text.prompt)["input_ids"])
        ways = [
            model.tokenizer(text.after(way))["input_ids"] for way in (text.answer, text.generic)
        ]
        differ = next(i for i in range(start, 99) if ways[0][i] != ways[1][i])
        for way, token, whole in zip(
            ways, (odds.answer, odds.generic), (odds.answer_whole, odds.generic_whole), strict=True
        ):
            with torch.no_grad():
                log_p = model.model(torch.tensor([way])).logits[0].log_softmax(-1)
            each = log_p[:-1].gather(1, torch.tensor(way)[1:, None])[:, 0]
            assert token == pytest.approx(each[differ - 1].item(), abs=1e-4)
            assert whole == pytest.approx(each[start - 1 :].sum().item(), abs=1e-4)
            assert odds.top == pytest.approx(log_p[differ - 1].max().item(), abs=1e-4)


def test_words_go_where_a_space_belongs():
    assert TEXTS[0].after("Spain") == "Madrid is located in Spain"
    assert TEXTS[2].after("the") == "Lima is the"
    assert TEXTS[5].after(" 4") == "It is 4"


def tiny_llama():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(LETTERS) + 1,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def test_matrices_are_found_by_the_fields_names(model):
    assert [list(layer) for layer in matrices(layers_of(model.model))] == [
        ["query", "key", "value", "output", "up", "down"]
    ] * 2
    llama = tiny_llama()
    found = matrices(layers_of(llama))
    assert [list(layer) for layer in found] == [
        ["query", "key", "value", "output", "gate", "up", "down"]
    ] * 3
    assert found[1]["key"].shape == (8, 16)
    found[1]["gate"].zero_()
    assert not llama.model.layers[1].mlp.gate_proj.weight.any()
    neox = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=2,
            num_attention_heads=2,
        )
    )  # fmt: skip
    assert list(matrices(layers_of(neox))[0]) == ["output", "up", "down"]
    neox.config.num_hidden_layers = 5
    with pytest.raises(HeadwayError, match=r"^model = 'GPTNeoXForCausalLM' is not allowed"):
        layers_of(neox)


def test_packed_columns_of_gpt2_are_what_they_are_called(model):
    layers = layers_of(model.model)
    weight, bias = layers[0].attn.c_attn.weight, layers[0].attn.c_attn.bias
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), Truncation(matrices(layers)).applied(Cut((0,), "value", 0.0)):
        query, key, value = layers[0].attn.c_attn(x).split(32, dim=-1)
        assert torch.allclose(query, x @ weight[:, :32] + bias[:32], atol=1e-5)
        assert torch.allclose(key, x @ weight[:, 32:64] + bias[32:64], atol=1e-5)
        assert torch.equal(value, bias[64:].expand(5, 32))


class Wrapped:
    """A model without a tokenizer, as `Completer` needs it."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.device, self.context, self.name = "cpu", 512, "llama"


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_layers_below_are_replayed_to_the_bit(model, kind):
    """In any order of cuts, with and without a pass of the intact model first."""
    local = model if kind == "gpt2" else Wrapped(tiny_llama(), model.tokenizer)
    layers = layers_of(local.model)
    last = len(layers) - 1
    truncation = Truncation(matrices(layers))
    wanted = [
        Cut((last,), "mlp", 0.0),
        Cut((0, last), "up", 0.3),
        INTACT,
        Cut((last,), "down", 0.5),
    ]
    for order in (wanted, wanted[::-1]):
        replay = Replay(layers, range(last + 1))
        whole, short = Completer(local, TEXTS), Completer(local, TEXTS, replay)
        for cut in order:
            with truncation.applied(cut):
                assert short(cut.lowest) == whole()
    assert not any("forward" in vars(layer) for layer in layers)


def test_a_replayed_layer_is_not_computed(model):
    layers = layers_of(model.model)
    completer = Completer(model, TEXTS, Replay(layers, [1]))
    completer(None)
    count = []
    with torch.no_grad():
        hooks = [
            part.register_forward_hook(lambda *_, i=i: count.append(i))
            for i, part in enumerate(layer.mlp for layer in layers)
        ]
        completer(1)
        for hook in hooks:
            hook.remove()
    assert set(count) == {1}


def asked(folder, **more):
    given = {"layers": None, "weights": ("mlp",), "fractions": (0.0, 0.5, 1.0), "texts": TEXTS}
    return Truncating(str(folder), **{**given, **more})


def test_a_truncation_that_stops_goes_on_where_it_was(model, folder, tmp_path):
    whole = truncate(asked(folder, layers=(0, 1)), lambda: model, tmp_path / "whole")
    assert whole[0].cut == INTACT
    assert len(whole) == 1 + 3 * 2

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        truncate(asked(folder, layers=(0, 1)), lambda: model, tmp_path / "parts", stop)
    path = tmp_path / "parts" / "truncation.jsonl"
    kept = path.read_text()
    assert kept.count("\n") == 3
    with path.open("a") as file:
        file.write('{"layers": [1], "wei')  # as a kill leaves it
    assert truncated(asked(folder, layers=(0, 1)), tmp_path / "parts") is None
    done = []
    rest = truncate(
        asked(folder, layers=(0, 1)), lambda: model, tmp_path / "parts",
        lambda *counts: done.append(counts),
    )  # fmt: skip
    assert done == [(4, 7), (5, 7), (6, 7), (7, 7)]
    assert path.read_text().startswith(kept)
    assert rest == whole
    assert truncated(asked(folder, layers=(0, 1)), tmp_path / "parts") == whole


def test_a_folder_holds_one_truncation(model, folder, tmp_path):
    truncate(asked(folder), lambda: model, tmp_path)
    with pytest.raises(HeadwayError, match=r"^fractions is not what .*truncation\.json says"):
        truncate(asked(folder, fractions=(0.5,)), lambda: model, tmp_path)
    with pytest.raises(HeadwayError, match=r"^model = 'other' is not allowed: it must be"):
        truncated(Truncating("other", None, ("mlp",), (0.0, 0.5, 1.0), TEXTS), tmp_path)
    (tmp_path / "truncation.jsonl").write_text('{"layers": []}\n')
    with pytest.raises(HeadwayError, match=r"truncation\.jsonl is corrupted"):
        truncated(asked(folder), tmp_path)


def test_one_process_truncates_into_a_folder(model, folder, tmp_path):
    what = asked(folder)
    with what.ledger(tmp_path).writing("cpu"), pytest.raises(HeadwayError, match="another process"):
        truncate(what, lambda: model, tmp_path)
    assert truncated(what, tmp_path) is None
    assert truncate(what, lambda: model, tmp_path) == truncated(what, tmp_path)


def test_effects_are_means_with_paired_intervals():
    """Every text moves by the same, so that the change has no width and the mean has."""
    texts = [Completion("k", str(i), "a", "b") for i in range(25)]
    before = [Odds(math.log(0.105 + i / 100), math.log(0.3), -0.1, -9.0, -9.0) for i in range(25)]
    after = [Odds(one.answer + 0.7, one.generic, -0.1, -3.0, -9.0) for one in before]
    cut = Cut((1,), "mlp", 0.0)
    lines = [Line(INTACT, 1.0, 2, tuple(before)), Line(cut, 0.0, 2, tuple(after))]
    intact, cut_off = effects(texts, lines)
    mean = cut_off.means["log_odds"]
    assert mean.change == pytest.approx(0.7)
    assert mean.change_low == pytest.approx(0.7)
    assert mean.change_high == pytest.approx(0.7)
    assert mean.low < mean.value - 0.05 < mean.value + 0.05 < mean.high
    assert intact.means["answer"].value == pytest.approx(0.225)
    assert intact.means["log_odds"].change == intact.means["log_odds"].change_high == 0
    assert intact.means["prefers"].value == 5 / 25
    assert cut_off.means["prefers"].value == 20 / 25
    (_, whole) = effects(texts, lines, "whole")
    assert whole.means["log_odds"].value == pytest.approx(6.0)


def test_the_interval_of_a_mean_is_the_bootstraps():
    """Close to the normal one where that holds."""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(400, generator=generator).tolist()
    texts = [Completion("k", str(i), "a", "b") for i in range(400)]
    lines = [Line(INTACT, 1.0, 2, tuple(Odds(x - 9, -9.0, 0.0, 0.0, 0.0) for x in draws))]
    mean = effects(texts, lines)[0].means["log_odds"]
    half = 1.96 * torch.tensor(draws).std().item() / 20
    assert mean.high - mean.value == pytest.approx(half, rel=0.1)
    assert mean.value - mean.low == pytest.approx(half, rel=0.1)


def test_there_are_enough_texts_of_every_kind_and_none_answers_itself():
    for kind in MADE:
        texts = completions((kind,))
        assert len(texts) == len({text.prompt for text in texts}) >= 20
        assert {text.kind for text in texts} == {kind}
    for text in completions(("places", "capitals")):
        assert text.answer not in text.prompt
    for text in completions(("fictional", "moved", "names")):
        assert text.answer in text.prompt
    for text in completions(("moved",)):
        assert text.generic not in text.prompt
    assert completions(("all",)) == [text for kind in MADE for text in completions((kind,))]


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_file_of_ones_own(tmp_path):
    path = write(
        tmp_path / "mine.jsonl",
        '{"prompt": "Oslo is in", "answer": "Norway", "generic": "the"}',
        "",
        '{"prompt": "Bonn is in", "answer": "Germany", "generic": "the", "kind": "towns", "n": 1}',
    )
    assert completions((str(path),)) == [
        Completion("mine", "Oslo is in", "Norway", "the"),
        Completion("towns", "Bonn is in", "Germany", "the"),
    ]


GOOD = '{"prompt": "Oslo is in", "answer": "Norway", "generic": "the"}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not valid JSON: "),
        ("[1]", "line 2 = [1] is not allowed: it must be an object"),
        ('{"prompt": "a", "answer": "b"}', "line 2: generic is missing"),
        ('{"answer": "b", "generic": "c"}', "line 2: prompt is missing"),
        ('{"prompt": "a", "answer": 3, "generic": "c"}', "line 2: answer = 3 is not allowed"),
        ('{"prompt": " ", "answer": "b", "generic": "c"}', "line 2: prompt = ' ' is not allowed"),
        (
            '{"prompt": "a", "answer": "b", "generic": " b"}',
            "line 2: generic = ' b' is not allowed",
        ),
        ('{"prompt": "a", "answer": "b", "generic": "c", "kind": 1}', "line 2: kind = 1 is not al"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path, line, said, folder, capsys):
    path = write(tmp_path / "mine.jsonl", GOOD, line)
    with pytest.raises(SystemExit) as stop:
        cli.main(["truncate", "--model", str(folder), "--prompts", str(path)])
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert f"{path}, {said}" in complaint
    assert complaint.count("\n") == 1


def test_files_without_texts_are_refused(tmp_path):
    with pytest.raises(HeadwayError, match="it must be a file with at least one line"):
        read_completions(write(tmp_path / "empty.jsonl", "", " "))
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(HeadwayError, match=r"bytes\.jsonl is not UTF-8 at byte 0"):
        read_completions(tmp_path / "bytes.jsonl")


def test_the_command_truncates_draws_and_goes_on(folder, tmp_path, capsys):
    path = write(tmp_path / "mine.jsonl", *(json.dumps(text.to_json()) for text in TEXTS))
    words = ["truncate", "--model", str(folder), "--layers", "0..1", "--weights", "mlp,down"]
    words += ["--rank", "0,0.5,1", "--prompts", str(path), "--folder", str(tmp_path / "out")]
    cli.main([*words, "--threads", "1"])
    told = capsys.readouterr().out
    assert "cut 13 of 13" in told
    assert "one  n=4, intact: p(answer) 0." in told
    assert max(map(len, told.splitlines()[:-1])) <= 80
    out = tmp_path / "out"
    kept = json.loads((out / "effects.json").read_text())
    assert len(kept["effects"]) == 2 * 13
    assert kept["reading"] == "token"
    assert kept["numbers"][0] == "value"
    about = json.loads((out / "truncation.json").read_text())
    assert about["environment"]["threads"] == 1
    assert about["texts"][0] == TEXTS[0].to_json()
    drawn = {p.name: p.read_bytes() for p in out.glob("*.svg")}
    assert sorted(drawn) == [f"{w}-{s}.svg" for w in ("down", "mlp") for s in ("alone", "upwards")]
    lines = (out / "truncation.jsonl").read_bytes()
    cli.main(words)
    assert "loading" not in capsys.readouterr().out
    assert (out / "truncation.jsonl").read_bytes() == lines
    assert {p.name: p.read_bytes() for p in out.glob("*.svg")} == drawn
    cli.main([*words, "--reading", "whole"])
    assert (out / "mlp-alone.svg").read_bytes() != drawn["mlp-alone.svg"]
    both = [e for e in kept["effects"] if e["layers"] == [0, 1]]
    odds = {(e["weights"], e["kind"], e["fraction"]): e["log_odds"][0] for e in both}
    for kind in ("one", "two"):
        assert odds["mlp", kind, 0] == odds["down", kind, 0]  # what is read is not written
        assert odds["mlp", kind, 0.5] != odds["down", kind, 0.5]


def test_one_layer_and_the_intact_model_alone_are_drawn_too(folder, tmp_path, capsys):
    words = ["truncate", "--model", str(folder), "--prompts", "names", "--folder"]
    cli.main([*words, str(tmp_path / "one"), "--layer", "1", "--rank", "0.5"])
    assert {path.name for path in (tmp_path / "one").glob("*.svg")} == {"mlp-alone.svg"}
    cli.main([*words, str(tmp_path / "none"), "--rank", "1"])
    assert len(json.loads((tmp_path / "none" / "effects.json").read_text())["effects"]) == 1
    assert "names  n=24" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "takes RUN, the folder of a run, or --model with a language model"),
        (["a", "--model", "smollm2"], "both are given"),
        (["a", "--prompts", "places"], "--prompts is an option of --model"),
        (["a", "--threads", "1"], "--threads is an option of --model"),
        (["--model", "smollm2", "--step", "3"], "--step is an option of a RUN"),
        (["--model", "smollm2", "--rank", "0,2"], "rank = 2.0 is not allowed: it must be a fract"),
        (["--model", "smollm2", "--rank", "half"], "rank = 'half' is not allowed"),
        (["--model", "smollm2", "--weights", "mpl"], "weights = 'mpl' is not allowed: it must"),
        (["--model", "smollm2", "--layers", "last"], "layers = 'last' is not allowed"),
        (["--model", "smollm2", "--prompts", "riddles"], "prompts = 'riddles' is not allowed"),
        (["--model", "smollm2", "--threads", "0"], "threads = 0 is not allowed"),
        (["--model", "smollm2", "--device", "tpu"], "device = 'tpu' is not allowed"),
        (["--model", "nothing"], "model = 'nothing' is not allowed"),
        (["nowhere"], "nowhere: there is no run folder here"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(["truncate", *words])
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layers", "0..7"], "layers = 2 is not allowed: it must be a layer of the model"),
        (["--weights", "mlp,gate"], "weights = 'gate' is not allowed: it must be one that layer"),
    ],
)
def test_what_the_model_does_not_have_is_told(folder, tmp_path, words, said, capsys):
    with pytest.raises(SystemExit):
        cli.main(["truncate", "--model", str(folder), "--folder", str(tmp_path / "out"), *words])
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_text_that_does_not_fit_is_told(tmp_path):
    model = LocalModel(str(save_tiny_model(tmp_path, positions=24)), "completion")
    with pytest.raises(HeadwayError, match=r"^a text of 26 tokens, 'Madrid is .*into the 24 of"):
        Completer(model, TEXTS)
