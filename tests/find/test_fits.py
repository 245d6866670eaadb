"""Classes and weights of tokens, fitted to attention that was made by hand."""

import pytest
import torch

from headway.find.fits import MANY, classes, weighed
from headway.find.screen import Screen
from headway.relations import Composed, parse
from headway.relations.composed import FEW_TOKENS


def drawn(tokens, length=8, sequences=40):
    """Sequences of random tokens, all of which stand there."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randint(tokens, (sequences, length), generator=generator)
    inputs[:, 0] = torch.arange(sequences) % tokens
    return Composed(inputs)


def attention_to(relations, weights):
    """Attention to all so far, each key by the weight of its token."""
    keys = relations.seen * weights[relations.inputs][:, None]
    return keys / keys.sum(2, keepdim=True)


def screen_of(relations, own, rows=None):
    """The screen of a head's attention."""
    rows = torch.ones(relations.inputs.shape) if rows is None else rows
    return Screen(relations, own, own.mean(0), rows, 400.0)


def weighed_names(relations, own, rows=None, name="all so far"):
    """What an expression is when its keys weigh as in some attention."""
    screen = screen_of(relations, own, rows)
    return [str(expression) for expression in weighed(screen, parse(name))]


def test_weights_of_tokens_are_read_off_attention():
    relations = drawn(3)
    own = attention_to(relations, torch.tensor([0.5, 1.0, 0.25]))
    by_all, _ = weighed_names(relations, own)
    assert by_all == "all so far by weight (token 0 0.5, token 2 0.25)"


def test_rows_that_do_not_matter_have_no_say_in_weights():
    relations = drawn(3)
    own = attention_to(relations, torch.tensor([0.5, 1.0, 1.0]))
    own[:20] = attention_to(relations, torch.tensor([1.0, 1.0, 0.1]))[:20]
    rows = torch.ones(relations.inputs.shape)
    rows[:20] = 1e-6
    by_all, *_ = weighed_names(relations, own, rows)
    assert by_all == "all so far by weight (token 0 0.5)"


def test_weights_may_depend_on_the_token_of_the_query():
    relations = drawn(2)
    of_zero = attention_to(relations, torch.tensor([0.5, 1.0]))
    of_one = attention_to(relations, torch.tensor([1.0, 0.25]))
    is_zero = (relations.inputs == 0)[..., None]
    own = torch.where(is_zero, of_zero, of_one)
    *_, by_query = weighed_names(relations, own)
    assert by_query == (
        "all so far for tokens 1 by weight (token 1 0.25), "
        "else all so far for tokens 0 by weight (token 0 0.5)"
    )


def test_an_expression_with_the_weights_of_a_head_is_much_cheaper():
    relations = drawn(3)
    own = attention_to(relations, torch.tensor([0.1, 1.0, 1.0]))
    screen = screen_of(relations, own)
    name = parse("all so far")
    even, by_all = screen.price(screen.told([name, next(weighed(screen, name))]))
    assert by_all < 0.5 * even


@pytest.mark.parametrize("weight", [1.0, 0.995])
def test_tokens_that_count_the_same_have_no_weights(weight):
    relations = drawn(3)
    own = attention_to(relations, torch.tensor([weight, 1.0, 1.0]))
    names = weighed_names(relations, own)
    assert not any("by weight" in name for name in names)


@pytest.mark.parametrize(("tokens", "is_weighed"), [(FEW_TOKENS, True), (9, False)])
def test_many_tokens_have_no_weights(tokens, is_weighed):
    relations = drawn(tokens)
    weights = torch.ones(tokens)
    weights[0] = 0.5
    names = weighed_names(relations, attention_to(relations, weights))
    assert bool(names) == is_weighed


def test_a_single_key_has_no_weight():
    relations = drawn(3)
    own = attention_to(relations, torch.tensor([0.5, 1.0, 1.0]))
    assert weighed_names(relations, own, name="previous token") == []


def test_vectors_have_no_weights_and_no_classes():
    vectors = Composed(torch.zeros(4, 5, 3), of_tokens=False)
    seen = vectors.seen.float()
    own = seen / seen.sum(2, keepdim=True)
    screen = screen_of(vectors, own, torch.ones(4, 5))
    assert list(weighed(screen, parse("all so far"))) == []
    assert classes(screen, 1) == []


def classes_of(weights, layer=0, shift=0):
    """The classes of tokens with some weights, or of what is so many places off."""
    relations = drawn(len(weights))
    own = attention_to(relations, torch.tensor(weights)).roll(shift, 2)
    return [str(expression) for expression in classes(screen_of(relations, own), layer)]


CLASSES = [
    ([1.0, 1.0, 0.01, 1.0, 0.01, 0.01], "0–1,3"),
    ([1.0, 0.7, 0.01, 0.01, 0.01, 0.01], "0–1"),
    ([1.0, 0.01] * 4, "0,2,4,6"),
]


@pytest.mark.parametrize(("weights", "tokens"), CLASSES)
def test_tokens_that_get_far_more_attention_than_others_are_a_class(weights, tokens):
    which = ("", "latest ", "earliest ")
    assert classes_of(weights) == [f"{each}token of {tokens}" for each in which]


NO_CLASSES = {
    "all tokens": [1.0] * 6,
    "tokens that others come near": [1.0, 1.0, 0.4, 0.4, 0.4, 0.4],
    "too many ranges": [1.0, 0.01] * 5,
    "one of two": [1.0, 0.01],
    "one of too many": [1.0] + MANY * [0.01],
}


@pytest.mark.parametrize("what", NO_CLASSES)
def test_other_tokens_are_no_class(what):
    assert classes_of(NO_CLASSES[what]) == []


def test_a_class_may_be_of_what_stands_before():
    names = classes_of([1.0, 0.01, 0.01, 0.01], layer=1, shift=1)
    assert "after token of 0" in names
    assert "before token of 0" not in names


def test_in_the_first_layer_no_class_is_of_what_stands_before():
    assert "after token of 0" not in classes_of([1.0, 0.01, 0.01, 0.01], shift=1)


def test_rows_that_do_not_matter_have_no_say_in_classes():
    relations = drawn(4)
    own = attention_to(relations, torch.tensor([1.0, 0.01, 0.01, 0.01]))
    own[:20] = attention_to(relations, torch.tensor([0.01, 1.0, 0.01, 0.01]))[:20]
    rows = torch.ones(relations.inputs.shape)
    rows[:20] = 1e-6
    expressions = classes(screen_of(relations, own, rows), 0)
    assert str(expressions[0]) == "token of 0"
