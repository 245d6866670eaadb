"""A tokenizer of words for tests: a space belongs to the word behind it."""

import re

KNOWN = "When Mary John Anna Paul and went to the store shop gave book a"
WORDS = ["<s>", "</s>", *KNOWN.split(), *(f" {word}" for word in KNOWN.split())]
LETTERS = [chr(code) for code in range(32, 127)]
VOCABULARY = [*WORDS, *LETTERS]


class Words:
    """Known words are one token each, others are spelt."""

    n_vocab = len(VOCABULARY)

    def __init__(self):
        self.numbers = {token: number for number, token in enumerate(VOCABULARY)}

    def encode(self, text):
        ids = []
        for part in re.findall(r" ?\w+|</?s>|.", text):
            parts = [part] if part in self.numbers else part
            ids += [self.numbers[one] for one in parts]
        return ids

    def decode(self, ids):
        return "".join(VOCABULARY[number] for number in ids)
