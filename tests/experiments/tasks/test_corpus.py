import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway_experiments.tasks.corpus import chain_of, counted, synthetic


@given(st.text(min_size=2, max_size=200).filter(lambda text: len(set(text)) > 1))
@settings(max_examples=50, deadline=None)
def test_a_text_is_counted_as_a_ring(text):
    chain = counted(text, 4096, "a text")
    ring = Counter(zip(text, text[1:] + text[0], strict=True))
    shares = Counter(text)
    characters = sorted(shares, key=lambda character: (-shares[character], character))
    assert len(chain.unigrams) == len(characters)
    for i, a in enumerate(characters):
        assert chain.unigrams[i].item() == pytest.approx(shares[a] / len(text))
        for j, b in enumerate(characters):
            assert chain.bigrams[i, j].item() == pytest.approx(ring[a, b] / shares[a])
    torch.testing.assert_close(chain.unigrams @ chain.bigrams, chain.unigrams)


def test_rare_characters_are_left_out():
    chain = counted("aab?aab!aab", 2, "a text")
    torch.testing.assert_close(chain.bigrams, torch.tensor([[0.5, 0.5], [1.0, 0.0]]).double())


def test_entropies_of_a_coin_and_of_a_ring():
    ring = counted("abc" * 10, 10, "a ring")
    assert ring.unigram_entropy == pytest.approx(math.log(3))
    assert ring.bigram_entropy == pytest.approx(0.0)
    alike = synthetic(8, 0.0, None)
    assert alike.unigram_entropy == alike.bigram_entropy == pytest.approx(math.log(8))


def test_the_synthetic_chain_is_a_function_of_its_numbers():
    once = synthetic.__wrapped__(65, 0.9, 12.0)
    again = synthetic.__wrapped__(65, 0.9, 12.0)
    assert torch.equal(once.bigrams, again.bigrams)
    for chain in (once, synthetic(65, 0.9, 0.1)):
        assert torch.allclose(chain.unigrams @ chain.bigrams, chain.unigrams, atol=1e-9)
    torch.testing.assert_close(once.bigrams.sum(1), torch.ones(65).double())
    # About as open as Shakespeare's characters are: 3.3 and 2.5 nats.
    assert once.unigram_entropy == pytest.approx(3.37, abs=0.01)
    assert once.bigram_entropy == pytest.approx(2.47, abs=0.01)
    assert synthetic(65, 0.9, 3.0).bigram_entropy < once.bigram_entropy


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "at least two different characters: this has 0"),
        (b"aaaa", "this has 1"),
        (b"\x89PNG\x00\xff\xfe", "must be a text in UTF-8 that can be read .*decode"),
        (None, "must be a text in UTF-8 that can be read .*No such file"),
    ],
)
def test_files_that_are_no_corpus_are_refused(tmp_path, content, complaint):
    path = tmp_path / "corpus.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HeadwayError, match=complaint) as refusal:
        chain_of(path, 65)
    assert "\n" not in str(refusal.value)


def test_neither_a_mark_of_byte_order_nor_an_end_of_line_is_a_character(tmp_path):
    (tmp_path / "corpus.txt").write_bytes("abba\r\nab".encode("utf-8-sig"))
    chain = chain_of(tmp_path / "corpus.txt", 65)
    assert chain.origin == "text in corpus.txt"
    assert torch.equal(chain.bigrams, counted("abba\nab", 65, "").bigrams)
