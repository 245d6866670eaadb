"""Pairs of texts as a task: tokens, roles, answers, and what is refused."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from headway import HeadwayError, Prompts, check_task
from headway.tasks.prompts import Answers, Cutter, Pair, filled, pairs_in
from headway.training.data import held_out
from words import VOCABULARY, Words

NAMES = ["Mary", "John", "Anna", "Paul"]
TEMPLATE = {
    "clean": "When {IO} and {S1} went to the {place}, {S2} gave a book to",
    "corrupted": "When {IO} and {S1} went to the {place}, {C} gave a book to",
    "right": " {IO}",
    "wrong": " {S}",
}
LISTS = {**dict.fromkeys(("IO", "S", "C"), NAMES), "place": ["store", "shop"]}
PAIR = {
    "clean": "When {IO:Mary} and {S1:John} went to the store, {S2:John} gave a book to",
    "corrupted": "When Mary and John went to the store, Anna gave a book to",
    "right": " Mary",
    "wrong": " John",
}


def tokens_of(text):
    return Words().encode(text)


def drawn_from(task, count):
    return task.sample(count, torch.Generator().manual_seed(0))


def prompts_of(count=24, **options):
    return Prompts.of(filled(TEMPLATE, LISTS, count=count), Words(), **options)


def test_templates_are_filled_with_different_names_and_no_pair_comes_twice():
    pairs = filled(TEMPLATE, LISTS, count=24)
    assert len({pair.clean for pair in pairs}) == 24
    for pair in pairs:
        clean, corrupted = pair.marked()
        assert list(clean.spans) == ["IO", "S1", "place", "S2"]
        words = [clean.text[slice(*span)] for span in clean.spans.values()]
        recipient, giver, _, giver_again = words
        assert giver == giver_again
        assert giver != recipient
        assert pair.answers == ((f" {recipient}",), (f" {giver}",))
        before_gave, _ = corrupted.text.split(" gave")
        corrupted_giver = before_gave.split()[-1]
        assert corrupted_giver not in {recipient, giver}
    assert filled(TEMPLATE, LISTS, count=24) == pairs
    assert filled(TEMPLATE, LISTS, count=24, seed=1) != pairs


def test_an_entry_of_a_list_is_a_table_of_words_that_belong_together():
    mary = {"name": "Mary", "they": [" a", " the"]}
    john = {"name": "John", "they": " to"}
    people = [mary, john]
    template = {
        "clean": "{P.name} went",
        "corrupted": "{Q.name} went",
        "right": "{P.they}",
        "wrong": "{Q.they}",
    }
    pairs = filled(template, {"P": people, "Q": people}, count=2)
    by_name = {pair.clean: pair.answers for pair in pairs}
    assert by_name == {
        "{name:Mary} went": ((" a", " the"), (" to",)),
        "{name:John} went": ((" to",), (" a", " the")),
    }


def test_roles_stand_at_the_last_tokens_of_their_words_and_the_end_at_the_last_of_all():
    task = prompts_of()
    batch = drawn_from(task, 24)
    assert task.roles == ("end", "IO", "S1", "place", "S2")
    all_tokens = batch.inputs.tolist()
    all_places = batch.roles[..., 0].tolist()
    asked = batch.targets[:, 0, 0].tolist()
    for tokens, places, answer in zip(all_tokens, all_places, asked, strict=True):
        words = [VOCABULARY[tokens[at]] for at in places]
        end, first, second, place, third = words
        assert end == " to"
        assert place in (" store", " shop")
        assert second == third
        (right, *_), (wrong, *_) = task.answers[answer]
        assert VOCABULARY[right] == first
        assert VOCABULARY[wrong] == second


def test_corrupted_texts_differ_in_one_name():
    batch = drawn_from(prompts_of(), 24)
    assert batch.corrupted is not None
    differs = batch.inputs != batch.corrupted
    assert differs.sum(1).tolist() == [1] * 24
    third = batch.roles[:, 4, 0]
    assert torch.equal(differs.long().argmax(1), third)


@pytest.fixture
def of_two_lengths():
    """A task of texts of two lengths, and a batch of it."""
    longer = dict(TEMPLATE)
    longer["clean"] += " the store to"
    longer["corrupted"] += " the store to"
    pairs = [*filled(TEMPLATE, LISTS, count=12), *filled(longer, LISTS, count=12)]
    task = Prompts.of(pairs, Words())
    return task, drawn_from(task, 24)


def test_shorter_texts_are_filled_up_behind(of_two_lengths):
    task, batch = of_two_lengths
    lengths = [len(prompt.clean) for prompt in task.prompts]
    ends = sorted(batch.roles[:, 0, 0].tolist())
    assert ends == sorted(length - 1 for length in lengths)


def test_a_text_is_asked_at_its_own_end(of_two_lengths):
    task, batch = of_two_lengths
    assert task.n_read == 4
    asked = task.targets.asked(batch.targets)[:, :, 0]
    assert asked.sum(1).tolist() == [1] * 24
    places = asked.long().argmax(1) + task.length - task.n_read
    assert torch.equal(places, batch.roles[:, 0, 0])


def test_relations_do_not_start_behind_the_end_of_a_text(of_two_lengths):
    task, batch = of_two_lengths
    behind = torch.arange(task.length) > batch.roles[:, 0]
    for name, edges in task.relations(batch).items():
        rows = edges.mask(task.length).any(2)
        assert not (rows & behind).any() or name == "own position"


def test_every_role_reads_every_other_and_anywhere_but_ahead():
    task = prompts_of()
    batch = drawn_from(task, 8)
    relations = task.edges(batch)
    cells = relations["end←IO"].mask(task.length)
    assert cells.sum((1, 2)).tolist() == [1] * 8
    sequence = torch.arange(8)
    end, first, _, _, third = batch.roles[..., 0].unbind(1)
    assert cells[sequence, end, first].all()
    anywhere = relations["S2←anywhere"].mask(task.length)
    n_queries = anywhere.any(2).sum(1)
    assert n_queries.tolist() == [1] * 8
    assert torch.equal(anywhere.sum((1, 2)), third + 1)


def test_a_search_has_one_half_of_the_pairs_and_all_else_the_other():
    task = prompts_of(23)

    def texts_for(purpose, count=100):
        inputs = held_out(task, count, 0, "cpu", purpose).inputs
        return [tuple(row) for row in inputs.tolist()]

    for_search = texts_for("circuit")
    for_certificate = texts_for("certificate")
    assert len(for_search) == len(texts_for("stability 1")) == 12
    assert len(for_certificate) == len(texts_for("exchange")) == 11
    assert set(for_search) == set(texts_for("stability 1"))
    assert set(for_certificate) == set(texts_for("exchange"))
    assert set(for_search).isdisjoint(for_certificate)
    few = texts_for("circuit", count=8)
    assert len(few) == 8
    assert len(set(few)) == 8


def test_the_task_can_be_used_and_tokens_have_their_texts():
    task = prompts_of()
    assert [finding for finding in check_task(task) if not finding.doubt] == []
    assert task.token_name(tokens_of("When")[0]) == "When"
    assert task.token_name(1) == "1"


def metric_by_hand(metric, logits, right, wrong):
    """A metric of one prompt with one right and one wrong answer."""
    match metric:
        case "logit difference":
            value = logits[right] - logits[wrong]
        case "probability":
            value = logits.softmax(0)[right]
        case "rank":
            value = (logits > logits[right]).sum()
        case "loss":
            value = F.cross_entropy(logits, torch.tensor(right))
    return float(value)


METRICS = ["logit difference", "probability", "rank", "loss"]


@pytest.fixture
def outputs():
    """A task, a batch of it, and outputs to its texts."""
    task = prompts_of()
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(6, 1, task.vocabulary, generator=generator)
    return task, drawn_from(task, 6), logits


@pytest.mark.parametrize("metric", METRICS)
def test_answers_are_measured_by_name(outputs, metric):
    task, batch, logits = outputs
    measured = task.by(metric).targets.values(logits, batch.targets)
    numbers = batch.targets.flatten().tolist()
    expected = []
    for row, number in zip(logits[:, 0], numbers, strict=True):
        (right,), (wrong,) = task.answers[number]
        expected.append(metric_by_hand(metric, row, right, wrong))
    assert measured.flatten().tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_errors_are_the_smaller_the_better(outputs, metric):
    task, batch, logits = outputs
    targets = task.by(metric).targets
    values = targets.values(logits, batch.targets)
    is_better_if_larger = metric in ("logit difference", "probability")
    expected = -values if is_better_if_larger else values
    errors = targets.each(logits, batch.targets)
    assert errors.flatten().tolist() == pytest.approx(expected.flatten().tolist())


def test_the_likelier_answer_is_the_one_given(outputs):
    task, batch, logits = outputs
    right = task.targets.right(logits, batch.targets)
    differences = task.targets.values(logits, batch.targets)
    assert torch.equal(right, differences > 0)


def test_several_answers_count_together():
    targets = Answers(4, (((0, 1), (2,)),))
    logits = torch.tensor([[[0.0, 1.0, 2.0, 3.0]]])
    asked = torch.zeros(1, 1, 1, dtype=torch.long)
    value = targets.values(logits, asked).item()
    difference = math.log(1 + math.e) - 2.0
    assert value == pytest.approx(difference, abs=1e-5)
    rank = Answers(4, (((0, 1), (2,)),), "rank")
    assert rank.values(logits, asked).item() == 2
    assert rank.smooth == targets


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_files_hold_the_same_pairs(tmp_path, suffix):
    file = tmp_path / f"pairs{suffix}"
    several = {**PAIR, "wrong": [" John", " Paul"]}
    if suffix == ".jsonl":
        line, other_line = json.dumps(PAIR), json.dumps(several)
        file.write_text(f"{line}\n\n{other_line}\n")
    else:
        head = "clean,corrupted,right,wrong"
        texts = f'"{PAIR["clean"]}","{PAIR["corrupted"]}", Mary'
        file.write_text(f"{head}\n{texts}, John\n{texts}, John| Paul\n")
    first, second = pairs_in(file)
    assert first.marked() == Pair(**PAIR).marked()
    assert first.answers == ((" Mary",), (" John",))
    assert second.answers == ((" Mary",), (" John", " Paul"))
    assert len(pairs_in(file, count=1)) == 1


def toml_of(table):
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    return "\n".join(lines)


def test_a_file_of_templates_is_filled(tmp_path):
    file = tmp_path / "io.toml"
    texts = toml_of(TEMPLATE)
    lists = toml_of(LISTS)
    file.write_text(f"{texts}\ncount = 20\nseed = 3\n[lists]\n{lists}\n")
    from_file = [pair.clean for pair in pairs_in(file)]
    expected = [pair.clean for pair in filled(TEMPLATE, LISTS, count=20, seed=3)]
    assert from_file == expected
    assert len(pairs_in(file, count=17)) == 17
    twice = (
        f"count = 20\n[[template]]\n{texts}\n[[template]]\n{texts}\n[lists]\n{lists}"
    )
    file.write_text(twice)
    assert len(Prompts.read(file, Words()).prompts) == 20


def fast_tokenizer(start=False):
    """The same words as a tokenizer of Transformers, which may put `<s>` in front."""
    library = pytest.importorskip("tokenizers", reason="needs the extra `llm`")
    transformers = pytest.importorskip("transformers", reason="needs the extra `llm`")
    own = library.Tokenizer(library.models.WordLevel(Words().numbers, unk_token="</s>"))
    own.pre_tokenizer = library.pre_tokenizers.Split(
        library.Regex(r" ?\w+|</?s>|."), "isolated"
    )
    own.decoder = library.decoders.Fuse()
    if start:
        own.post_processor = library.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=own)


@pytest.mark.parametrize("start", [False, True])
def test_tokenizers_of_all_kinds_cut_alike(start):
    pairs = filled(TEMPLATE, LISTS, count=24)
    by_words = Prompts.of(pairs, Words(), start="<s>" if start else None)
    fast = fast_tokenizer(start)
    many = {"n_tokens": len(VOCABULARY)}
    by_transformers = Prompts.of(pairs, fast, **many)
    assert by_transformers == by_words
    first_token = by_transformers.prompts[0].clean[0]
    assert first_token == (0 if start else tokens_of("When")[0])
    assert Prompts.of(pairs, fast.backend_tokenizer, **many) == by_words
    function = Prompts.of(pairs, Words().encode, n_tokens=len(VOCABULARY), start="")
    assert function.prompts == Prompts.of(pairs, Words()).prompts


def test_a_text_is_cut_where_the_tokenizer_cuts_it():
    cut = Cutter(Words()).cut("When Zoe went")
    assert cut.spans == [(0, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 13)]
    assert Cutter(Words()).front() == []


WRONG = json.loads(Path(__file__).with_name("wrong.json").read_text())
"""What is refused, and what the line says."""


def named(kind):
    cases = WRONG[kind]
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def assert_says(refused, case):
    line = str(refused.value)
    assert "\n" not in line
    assert len(line) < 300
    for part in case["line"]:
        assert part in line


@named("pairs")
def test_a_wrong_pair_is_refused_in_one_line(case):
    pair = case.get("pair")
    if pair is None:
        pair = {**PAIR, **case["change"]}
        for field in case["without"]:
            del pair[field]
    with pytest.raises(HeadwayError) as refused:
        Prompts.of([pair] * 16, Words())
    assert_says(refused, case)


def changed(**fields):
    return {**PAIR, **fields}


WRONG_LISTS = {
    "no pairs": ([], "pairs = []", "at least one"),
    "a text": ("pairs", "pairs = 'pairs'", "a list of pairs"),
    "too few": ([PAIR] * 15, "number of pairs = 15", "at least 16"),
    "other roles": (
        [PAIR, changed(clean=PAIR["clean"].replace("{IO:Mary}", "Mary"))],
        "pair 2: role IO is missing here",
        "the same roles",
    ),
    "more roles": (
        [PAIR, changed(clean=PAIR["clean"].replace("went", "{V:went}"))],
        "pair 2: role V is marked here alone",
        "the same roles",
    ),
}


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_a_wrong_list_of_pairs_is_refused_in_one_line(name):
    pairs, begins, says = WRONG_LISTS[name]
    with pytest.raises(HeadwayError) as refused:
        Prompts.of(pairs, Words())
    assert begins in str(refused.value)
    assert says in str(refused.value)


WRONG_OPTIONS = {
    "metric": ({"metric": "accuracy"}, "metric = 'accuracy'", "logit difference"),
    "start of letters": ({"start": "<bos>"}, "start = '<bos>'", "it is 5"),
    "fewer tokens": ({"n_tokens": 3}, "pair 1: token", "below 3"),
    "no tokenizer": ({"tokenizer": 3}, "tokenizer = 3", "a function from a text"),
    "a class": ({"tokenizer": Words}, "tokenizer", "a function from a text"),
    "a function alone": ({"tokenizer": Words().encode}, "n_tokens is missing", ""),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_a_wrong_option_is_refused_in_one_line(name):
    options, begins, says = WRONG_OPTIONS[name]
    tokenizer = options.get("tokenizer", Words())
    others = {key: value for key, value in options.items() if key != "tokenizer"}
    with pytest.raises(HeadwayError) as refused:
        Prompts.of([PAIR] * 16, tokenizer, **others)
    assert begins in str(refused.value)
    assert says in str(refused.value)


@named("files")
def test_a_wrong_file_is_refused_in_one_line(case, tmp_path):
    file = tmp_path / case["file"]
    file.write_text(case["content"])
    with pytest.raises(HeadwayError) as refused:
        pairs_in(file)
    assert_says(refused, case)


def test_a_file_is_read_as_utf8_and_no_more_pairs_than_it_has(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(HeadwayError, match="is not UTF-8: byte 0"):
        pairs_in(file)
    file.write_text(json.dumps(PAIR))
    with pytest.raises(HeadwayError, match=r"count = 2 .* from 1 to 1"):
        pairs_in(file, count=2)
    with pytest.raises(HeadwayError, match=r"seed = 1 .* has no templates"):
        pairs_in(file, seed=1)
    with pytest.raises(HeadwayError, match="No such file"):
        pairs_in(tmp_path / "b.jsonl")


@named("templates")
def test_a_wrong_template_is_refused_in_one_line(case):
    with pytest.raises(HeadwayError) as refused:
        filled(case["template"], case["lists"], count=24)
    assert_says(refused, case)


def test_marks_of_a_text_are_doubled_braces():
    pair = Pair("a {{b}} {R:c} d", "a {{b}} e d", " x", " y")
    clean, corrupted = pair.marked()
    assert clean.text == "a {b} c d"
    assert clean.text[slice(*clean.spans["R"])] == "c"
    assert corrupted.text == "a {b} e d"


def test_relations_by_tokens_are_there_in_corrupted_texts_too():
    task = prompts_of()
    batch = drawn_from(task, 8)
    other = replace(batch, inputs=batch.corrupted)
    clean, corrupted = task.relations(batch), task.relations(other)
    assert clean.keys() == corrupted.keys()
    name = "S2←after same token"
    assert clean[name].mask(task.length).any()
    assert not corrupted[name].mask(task.length).any()


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "prompts").glob("*"))


def test_there_are_five_examples():
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_has_pairs_enough_which_differ_in_what_they_mark(file):
    pairs = pairs_in(file)
    assert len(pairs) >= 100
    assert len({pair.clean for pair in pairs}) == len(pairs)
    for pair in pairs:
        clean, corrupted = pair.marked()
        assert clean.spans
        assert clean.text != corrupted.text
        assert len(clean.text.split()) == len(corrupted.text.split())
        right, wrong = pair.answers
        assert not {*right} & {*wrong}
