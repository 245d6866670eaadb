"""What is fitted to attention: weights of tokens, classes of tokens, and tables."""

import pytest
import torch

from headway.relations import Composed
from headway.relations.fitted import Tables, for_classes, to_classes, weighed


def drawn(tokens, length=8, sequences=40):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(tokens, (sequences, length), generator=generator)


def attention_to(relations, weights):
    """Attention to all so far, each key by the weight of its token."""
    keys = relations.part("all so far") * weights[relations.inputs][:, None]
    return keys / keys.sum(2, keepdim=True)


def even_rows(relations):
    return torch.full(relations.inputs.shape, 1 / relations.inputs.numel())


def test_weights_of_tokens_are_read_off_attention():
    relations = Composed(drawn(3))
    own = attention_to(relations, torch.tensor([0.5, 1.0, 0.25]))
    (name,) = weighed("all so far", relations, own, even_rows(relations))
    assert name == "all so far by weight (token 0 0.5, token 2 0.25)"


def test_rows_that_do_not_matter_have_no_say_in_weights():
    relations = Composed(drawn(3))
    own = attention_to(relations, torch.tensor([0.5, 1.0, 1.0]))
    rows = even_rows(relations)
    own[:20] = attention_to(relations, torch.tensor([1.0, 1.0, 0.1]))[:20]
    rows[:20] = 0.0
    (name,) = weighed("all so far", relations, own, rows)
    assert name == "all so far by weight (token 0 0.5)"


@pytest.mark.parametrize(("tokens", "weight"), [(3, 1.0), (3, 0.995), (9, 0.5)])
def test_tokens_that_count_the_same_or_are_many_have_no_weights(tokens, weight):
    relations = Composed(drawn(tokens))
    weights = torch.ones(tokens)
    weights[0] = weight
    assert (
        weighed(
            "all so far",
            relations,
            attention_to(relations, weights),
            even_rows(relations),
        )
        == []
    )


def classes_of(weights, moves=None, shift=0):
    relations = Composed(drawn(len(weights)))
    own = attention_to(relations, torch.tensor(weights)).roll(shift, 2)
    return to_classes(relations, own, even_rows(relations), moves or {})


@pytest.mark.parametrize(
    ("weights", "listed"),
    [
        ([1.0, 1.0, 0.01, 1.0, 0.01, 0.01], "0–1,3"),
        ([1.0, 0.7, 0.01, 0.01, 0.01, 0.01], "0–1"),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], None),
        ([1.0, 1.0, 0.4, 0.4, 0.4, 0.4], None),
        ([1.0, 0.01] * 5, None),
    ],
)
def test_tokens_that_get_far_more_attention_than_others_are_a_class(weights, listed):
    kinds = [] if listed is None else ["", "latest ", "earliest "]
    assert classes_of(weights) == [f"{which}token of {listed}" for which in kinds]


def test_a_class_may_be_of_what_stands_before():
    names = classes_of([1.0, 0.01, 0.01, 0.01], {"after ": 1}, shift=1)
    assert "after token of 0" in names


def of_classes(inputs, **along):
    return for_classes(inputs, along)


def test_two_relations_may_share_the_tokens_of_a_head():
    tokens = torch.tensor([[0, 1, 2, 3, 4]])
    few, many = torch.tensor([[1.0, 1, 0, 0, 0]]), torch.tensor([[0.0, 0, 1, 1, 1]])
    third = torch.tensor([[0.5, 0.5, 0.5, 0.5, 0.5]])
    assert of_classes(tokens, few=few, third=third, many=many) in (
        "few for tokens 0–1, else many",
        "many for tokens 2–4, else few",
    )


def test_one_relation_that_is_the_better_for_all_tokens_is_not_split():
    tokens = torch.tensor([[0, 1, 2, 3]])
    best, worst = torch.ones(1, 4), torch.full((1, 4), 0.5)
    assert of_classes(tokens, best=best, worst=worst) is None


def test_a_split_into_too_many_ranges_is_not_told():
    tokens = torch.arange(10)[None]
    odd = (tokens % 2).float()
    assert of_classes(tokens, odd=odd, even=1 - odd) is None
    assert of_classes(tokens[:, :8], odd=odd[:, :8], even=1 - odd[:, :8]) is not None


def test_vectors_and_many_tokens_have_no_tables():
    own = torch.ones(2, 1, 1, 3, 3)
    assert not Tables(torch.zeros(2, 3), lambda: own).are_possible
    many = torch.arange(900).reshape(2, 450)
    assert not Tables(many, lambda: torch.ones(2, 1, 1, 450, 450)).are_possible
