"""A tiny random language model that reads letter by letter, as a folder of
Transformers.
"""

import string

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

TEMPLATE = (
    "{% for message in messages %}<{{ message['content'] }}>{% endfor %}"
    "{% if add_generation_prompt %}={% endif %}"
)
LETTERS = string.digits + string.ascii_letters + " .,?()<>=\n:'"


def save_model(folder, tokenizer, template=None, **more):
    """A model with random weights for a tokenizer; both are saved."""
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "n_positions": 2048, "n_embd": 32}
    sizes |= {"n_layer": 2, "n_head": 2, "initializer_range": 0.3}
    ends = {"bos_token_id": None, "eos_token_id": None}
    GPT2LMHeadModel(GPT2Config(**sizes | ends | more)).save_pretrained(folder)
    return str(folder)


def save_tiny_model(folder, positions=2048, template=TEMPLATE, merges=()):
    """A model that reads letters, and pairs of them that are merged; its folder."""
    vocab = {
        token: i
        for i, token in enumerate([*LETTERS, "<end>", *(a + b for a, b in merges)])
    }
    letters = Tokenizer(models.BPE(vocab=vocab, merges=list(merges)))
    letters.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, eos_token="<end>")
    ends = dict.fromkeys(("bos_token_id", "eos_token_id"), vocab["<end>"])
    own = {"n_positions": positions, "tie_word_embeddings": False}
    save_model(folder, tokenizer, template, **ends, **own)
    return folder


def in_full(model, question):
    """Log-probabilities of answers and their ends, by a pass of a model of its own for
    each.
    """
    fresh = AutoModelForCausalLM.from_pretrained(model.name).eval()
    prompt = model.cut(question)[0].tolist()
    said = []
    ended = []
    for option in model.cut(question)[1]:
        with torch.no_grad():
            ids = torch.tensor([prompt + option])
            log_p = fresh(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
        own = log_p[len(prompt) - 1 : -1].gather(1, ids[0, len(prompt) :, None]).sum()
        said.append(own.item())
        ended.append((own + log_p[-1, model.stops].logsumexp(0)).item())
    return said, ended
