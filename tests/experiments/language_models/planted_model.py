"""A tiny GPT-2 whose weights are set by hand: it answers two equations, and its heads are known.

Words are tokens. The residual stream has blocks: the word, the word two places before (on a line
`d = z` the value's place comes to know the name), what is asked about, what hop 1 leads to, the
answer, and the place.

    layer 0  head 1   every place looks two back          (s2←s1, s4←s3)
             head 2   the last place looks at what is asked (answer←s0), a fixed distance back
    layer 1  head 3   the last place looks at the letter that stands beside it      (answer←s2)
    layer 2  head 0   the last place looks at the number that stands beside that    (answer←s4)

The other heads attend at random and add nothing. The query of a head that matches words is large,
so that attention is all but one-hot.
"""

import string

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from headway.language import questions

HOP_1, HOP_2 = (1, 3), (2, 0)
"""The heads that follow the chain."""
BESIDE, ASKED = (0, 1), (0, 2)
"""Those that they need."""

LAYERS, HEADS, PLACES = 3, 6, 64
SHARP = 40.0


def save_planted_model(folder):
    (question,) = questions("equations", 2, count=1)
    splits = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s+"), "removed"),
            pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "isolated"),
        ]
    )
    said = f"{question.prompt}\nAnswer:"
    words = [word for word, _ in splits.pre_tokenize_str(said)]
    kept = dict.fromkeys([*string.digits, *string.ascii_lowercase, *words, "<end>"])
    vocab = {word: i for i, word in enumerate(kept)}
    read = Tokenizer(models.WordLevel(vocab, unk_token="<end>"))
    read.pre_tokenizer = splits
    PreTrainedTokenizerFast(tokenizer_object=read, eos_token="<end>").save_pretrained(folder)
    size, width = 64, 64 * HEADS
    assert len(vocab) + 1 < size
    config = GPT2Config(
        vocab_size=len(vocab),
        n_positions=PLACES,
        n_embd=width,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=1,
        tie_word_embeddings=False,
        bos_token_id=vocab["<end>"],
        eos_token_id=vocab["<end>"],
    )
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config)
    last = len(words) - 1
    back = last - max(i for i, word in enumerate(words) if word == "?") + 1
    with torch.no_grad():
        set_weights(model, vocab, size, back)
    model.save_pretrained(folder)
    return folder


def set_weights(model, vocab, size, back):
    word, two_back, asked, first, answer, place = (
        slice(i * size, (i + 1) * size) for i in range(6)
    )
    count, gpt = len(vocab), model.transformer
    gpt.wte.weight.zero_()
    gpt.wte.weight[:, word][:, :count] = torch.eye(count)
    gpt.wpe.weight.zero_()
    gpt.wpe.weight[:, place] = torch.eye(PLACES)
    width = gpt.wte.weight.shape[1]
    for layer in gpt.h:
        undo_norm(layer.ln_1, width)
        layer.mlp.c_proj.weight.zero_()
        layer.attn.c_proj.weight.zero_()
        layer.attn.c_proj.bias.zero_()

    def head(at, q, k, v, out):
        """Maps of the head, each [block of the stream, own dimensions]; `out` is a block."""
        layer, number = at
        attn, own = gpt.h[layer].attn, slice(number * size, (number + 1) * size)
        maps = attn.c_attn.weight.view(width, 3, width)[:, :, own]
        maps.zero_()
        for i, (block, weights) in enumerate((q, k, v)):
            maps[block, i] = weights
        attn.c_proj.weight[own, out] = torch.eye(size)

    same, here = torch.eye(size), torch.eye(PLACES)
    # A place p asks for p - 2, or p - back: the k-th dimension of a query stands for place k.
    head(BESIDE, (place, SHARP * shifted(2)), (place, SHARP * here), (word, same), two_back)
    head(ASKED, (place, SHARP * shifted(back)), (place, SHARP * here), (word, same), asked)
    letters = [vocab[letter] for letter in string.ascii_lowercase]
    digits = [vocab[digit] for digit in string.digits]
    for at, query, kinds, out in (
        (HOP_1, asked, letters, first),
        (HOP_2, first, digits, answer),
    ):
        head(at, (query, SHARP * same), (two_back, SHARP * same), (word, same), out)
        # The last own dimension asks, everywhere, for a word of this kind.
        layer, number = at
        attn = gpt.h[layer].attn
        own = number * size + size - 1
        attn.c_attn.bias[own] = SHARP
        attn.c_attn.weight[kinds, width + own] = SHARP
    undo_norm(gpt.ln_f, width)
    model.lm_head.weight.zero_()
    model.lm_head.weight[:, answer][:, :count] = 8.0 * torch.eye(count)


def shifted(places):
    """[place, place that it asks for]."""
    return torch.diag(torch.ones(PLACES - places), -places)


def undo_norm(norm, width):
    """Of a stream with two ones the norm gives the stream itself."""
    norm.weight.fill_((2 / width - (2 / width) ** 2) ** 0.5)
    norm.bias.fill_(2 / width)
