"""A small random language model of Transformers that reads the words of `words`."""

import pytest
import torch

from headway import Prompts
from headway.tasks.prompts import filled
from words import VOCABULARY, Words

NAMES = ["Mary", "John", "Anna", "Paul"]
TEMPLATE = {
    "clean": "When {IO} and {S1} went to the {place}, {S2} gave a book to",
    "corrupted": "When {IO} and {S1} went to the {place}, {C} gave a book to",
    "right": " {IO}",
    "wrong": " {S}",
}
LISTS = {**dict.fromkeys(("IO", "S", "C"), NAMES), "place": ["store", "shop"]}


def small_llama(spread=0.3):
    library = pytest.importorskip("transformers", reason="needs the extra `llm`")
    torch.manual_seed(0)
    config = library.LlamaConfig(
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        hidden_size=16,
        intermediate_size=16,
        vocab_size=len(VOCABULARY),
        initializer_range=spread,
        tie_word_embeddings=False,
    )
    return library.LlamaForCausalLM(config).eval()


def prompts(count=24, **options):
    return Prompts.of(filled(TEMPLATE, LISTS, count=count), Words(), **options)
