"""Tokenizers that treat the ends of texts in their own ways, and models with them."""

import string

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import LlamaTokenizer, PreTrainedTokenizerFast

LETTERS = string.digits + string.ascii_letters + " .,?()<>=[]/\n:'"
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "<q>{{ message['content'] }}</q>{% else %}GAP{{ message['content'] }}</s>{% "
    "endif %}"
    "{% endfor %}"
)


def letters(*special):
    return {t: i for i, t in enumerate(dict.fromkeys([*special, *LETTERS]))}


def llama(**more):
    vocab = letters("<unk>", "<s>", "</s>", "▁", "▁3")
    return LlamaTokenizer(vocab=vocab, merges=[("▁", "3")], **more)


def fast(vocab, merges=(), **parts):
    """`parts` are set on the tokenizer, whose special tokens are its first."""
    made = Tokenizer(models.BPE(vocab=vocab, merges=list(merges), unk_token="[UNK]"))
    for name, part in parts.items():
        setattr(made, name, part)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", eos_token="[SEP]"
    )


def bert():
    vocab = letters("[UNK]", "[CLS]", "[SEP]")
    ends = processors.TemplateProcessing(
        "[CLS] $A [SEP] [SEP]", None, [("[CLS]", 1), ("[SEP]", 2)]
    )
    return fast(vocab, post_processor=ends, decoder=decoders.Fuse())


def byte_level():
    """A space stands in front of every text, as `add_prefix_space` asks for."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {t: i for i, t in enumerate(["[UNK]", "[CLS]", "[SEP]", *alphabet, "Ġ3"])}
    split = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return fast(vocab, [("Ġ", "3")], pre_tokenizer=split, decoder=decoders.ByteLevel())


def stripping():
    """White space at both ends of a text is dropped."""
    vocab = letters("[UNK]", "[CLS]", "[SEP]")
    return fast(vocab, normalizer=normalizers.Strip(), decoder=decoders.Fuse())


ACROSS = {"completion": [(":", " ")], "chat": [("=", "3"), ("=", "1")]}
"""Merges of the end of the prompt with the answer's beginning."""


def said_in_full(model, ids, start):
    """Log-probability of the tokens from `start` on."""
    with torch.no_grad():
        log_p = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return log_p[start - 1 : -1].gather(1, torch.tensor(ids)[start:, None]).sum().item()
