"""Every relation in words selects, as numpy code, the keys that it has by its mask."""

import numpy as np
import pytest
import torch

from headway.programs import prelude
from headway.programs.selects import UnreadError, code_of
from headway.relations import Composed, parse, primitive
from headway.relations.primitives import PRIMITIVES
from headway.relations.vocabulary import candidates, distinct

WORDS = [
    *("own position", "previous token", "first position", "mirror position"),
    *("all so far", "all before", "any token", "same token", "other token"),
    *("larger token", "smaller token", "same or larger token", "token 3"),
    *("same or smaller token", "single token", "repeated token", "new token"),
    *("token unlike its mirror", "token like its mirror", "2 back", "position 4"),
    *("token unlike its predecessor", "token like its predecessor"),
    *("every 3 back", "every 1 back", "token of 0–2,5", "token of 1", "20 back"),
    *("latest same token", "earliest token 3", "latest token of 0-2,5"),
    *("largest smaller token", "smallest larger token", "second largest any token"),
    *("second smallest larger token", "after latest same token", "before same token"),
    *("after any token", "before any token", "mirror across token 3"),
    *("aligned past token 3", "twice past token 3", "before aligned past token 3"),
    *("mirror position if the same token", "previous token if another token"),
    *("previous token for tokens 0–3,7", "same token and first position"),
    "smallest larger token, else smallest smaller token",
    "mirror position if the same token, else latest token 3, else own position",
    "after latest same token for tokens 0,2, else 2 back",
    "all so far by weight (token 0 0.92, token 3 0.5)",
    *("next token", "2 ahead", "every 3 from position 1", "start of block of 4"),
    *("own run", "past token 3", "up to token 3", "latest run of token 3"),
    *("second latest same token", "third earliest token 1"),
]


def selected(code: str, tokens: np.ndarray, ahead: bool) -> np.ndarray:
    n, i, j, q, k, seen = prelude.frame(tokens, ahead)
    scope = {**vars(prelude), "t": tokens}
    scope.update(n=n, i=i, j=j, q=q, k=k, seen=seen)
    return np.broadcast_to(eval(code, scope), seen.shape)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", WORDS)
def test_code_selects_the_keys_of_a_relations_mask(name, ahead):
    generator = torch.Generator().manual_seed(3)
    for length, top in ((2, 2), (9, 8), (14, 4)):
        tokens = torch.randint(top, (40, length), generator=generator)
        mask = Composed(tokens, ahead=ahead).mask(name).numpy()
        assert np.array_equal(selected(code_of(name), tokens.numpy(), ahead), mask)


@pytest.mark.parametrize("layer", [0, 1])
def test_every_relation_of_the_vocabulary_has_code(layer):
    generator = torch.Generator().manual_seed(layer)
    tokens = torch.randint(6, (30, 9), generator=generator)
    composed = Composed(tokens)
    for expression in distinct(candidates(composed, layer), composed):
        mask = composed.mask(expression).numpy()
        keys = selected(code_of(str(expression)), tokens.numpy(), ahead=False)
        assert np.array_equal(keys, mask)


@pytest.mark.parametrize(
    "name", ["s1←s0", "token x", "__import__('os')", "every 0 back"]
)
def test_a_name_of_other_words_has_no_code(name):
    with pytest.raises(UnreadError, match="no program says it"):
        code_of(name)


def test_a_primitive_of_ones_own_is_read_by_its_code():
    form = "token divisible by {number}"
    primitive(form, picked=True, code="(seen & (k % {0} == 0))")(
        lambda at, number: (at.tokens % number == 0)[:, None]
    )
    try:
        assert code_of(f"latest {form}".format(number=3)) == (
            "latest((seen & (k % 3 == 0)))"
        )
    finally:
        del PRIMITIVES[form]
        parse.cache_clear()


def test_a_primitive_without_code_is_in_no_program():
    form = "token divisible by {number}"
    primitive(form)(lambda at, number: (at.tokens % number == 0)[:, None])
    try:
        with pytest.raises(UnreadError, match="no program says it"):
            code_of("token divisible by 3")
    finally:
        del PRIMITIVES[form]
        parse.cache_clear()
