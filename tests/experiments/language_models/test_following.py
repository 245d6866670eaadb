"""Relations of a question on tokens: they lead where they say, and attention is summed as told."""

import pytest
import torch
from tiny_model import save_tiny_model

from headway.errors import HeadwayError
from headway.language import LocalModel, questions
from headway_experiments.language_models.following import (
    PREVIOUS,
    Ruler,
    attention,
    relations,
    require_chains,
)
from headway_experiments.language_models.tokens import reading

NAMES = ("equations", "lives-with", "kingdoms")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(save_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("name", NAMES)
def test_the_tokens_of_a_role_say_its_word(folder, form, name):
    model = LocalModel(folder, form)
    (question,) = questions(name, 3, count=1)
    told = reading(model, question)
    assert told.ids.tolist() == model.prompt(question).tolist()
    for span in question.spans.values():
        tokens = told.tokens(span)
        assert model.tokenizer.decode(told.ids[tokens]) == question.prompt[slice(*span)]
    whole = told.ids[told.tokens((0, len(question.prompt)))]
    assert model.tokenizer.decode(whole) == question.prompt


def test_a_template_that_changes_the_question_is_told_of(tmp_path):
    template = "{% for message in messages %}<{{ message['content'] | upper }}>{% endfor %}="
    model = LocalModel(str(save_tiny_model(tmp_path, template=template)))
    (question,) = questions("equations", 1, count=1)
    with pytest.raises(HeadwayError, match=r"changes the question: ask it with --form completion$"):
        reading(model, question)


@pytest.mark.parametrize("name", NAMES)
def test_relations_are_of_their_kind(name):
    (question,) = questions(name, 2, count=1)
    found = {one.name: (one.kind, one.hop) for one in relations(question)}
    beside = ("s1←s2", "s3←s4") if name == "kingdoms" else ("s2←s1", "s4←s3")
    assert found == {
        "s0←s1": ("look-up", 1),
        "s2←s3": ("look-up", 2),
        beside[0]: ("neighbour", 1),
        beside[1]: ("neighbour", 2),
        "s0←s2": ("induction", 1),
        "s2←s4": ("induction", 2),
        "answer←s0": ("place", 0),
        "answer←s1": ("read-out", 1),
        "answer←s2": ("read-out", 1),
        "answer←s3": ("read-out", 2),
        "answer←s4": ("read-out", 2),
        PREVIOUS: ("place", 0),
    }


def by_hand(question, told, pattern, name):
    """Attention of one head to its own chain and to the others, pair by pair."""
    query, key = name.split("←")
    spans, own, others = question.spans, [], []
    for chain in range(question.chains):
        if query == "answer":
            at = len(told.ids) - 1 if chain == question.asked else None
        else:
            span = spans.get((chain, query))
            at = told.tokens(span)[-1] if span else None
        if at is None:
            continue
        given = {
            other: sum(pattern[at, token].item() for token in told.tokens(spans[other, key]))
            for other in range(question.chains)
            if told.tokens(spans[other, key])[-1] <= at
        }
        rest = [value for other, value in given.items() if other != chain]
        if rest:
            own.append(given[chain])
            others.append(sum(rest) / len(rest))
    return sum(own) / len(own), sum(others) / len(others)


@pytest.mark.parametrize("name", NAMES)
def test_attention_is_summed_as_told(folder, name):
    model = LocalModel(folder)
    (question,) = questions(name, 2, count=1, seed=4)
    told, found = reading(model, question), attention(model, question)
    with torch.no_grad():
        patterns = model.model(told.ids[None], output_attentions=True).attentions
    for number, relation in enumerate(relations(question)):
        for layer, pattern in enumerate(patterns):
            for head in range(pattern.shape[1]):
                at = number, layer, head
                one = pattern[0, head]
                if relation.name == PREVIOUS:
                    expected = one.diagonal(-1).mean().item()
                    assert found.own[at].item() == pytest.approx(expected, abs=1e-6)
                if not relation.compared:
                    assert found.others[at].isnan()
                    continue
                own, others = by_hand(question, told, one, relation.name)
                assert found.own[at].item() == pytest.approx(own, abs=1e-6)
                assert found.others[at].item() == pytest.approx(others, abs=1e-6)


def test_uniform_attention_follows_nothing(folder):
    """Every chain's role gets the same, but for lines above that a query cannot tell apart."""
    (question,) = questions("equations", 2, count=1)
    told = reading(LocalModel(folder), question)
    own, others = Ruler.of(question, told)(torch.full((1, len(told.ids), len(told.ids)), 0.01))
    for relation, one, rest in zip(relations(question), own[:, 0], others[:, 0], strict=True):
        assert one.item() == pytest.approx(0.01)
        assert rest.item() == pytest.approx(0.01) or not relation.compared


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("functions", 2, 4), "formulation = 'functions' is not allowed: it must be one whose"),
        (("riddles", 2, 4), "formulation = 'riddles' is not allowed: it must be one of"),
        (("equations", 2, 1), "chains = 1 is not allowed: it must be at least 2"),
        (("equations", 9, 4), "depth = 9 is not allowed: it must be from 1 to 6"),
    ],
)
def test_what_cannot_be_compared_is_told(given, said):
    with pytest.raises(HeadwayError, match=said):
        require_chains(*given)
