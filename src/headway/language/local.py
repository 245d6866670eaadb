"""A local language model: what it answers, by exact probabilities and by sampling."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, Literal

import torch
from torch import Tensor

from headway.errors import HeadwayError, require, shown
from headway.language.loading import loaded, located
from headway.language.question import Question
from headway.training.files import clear_errors

Form = Literal["chat", "completion"]

PROBE = "a is 1. b is a. What is b? " * 8
"""A text on which is tried whether a model can go on from what it keeps of one."""


class LocalModel:
    """A causal language model and its tokenizer, on the CPU or a GPU, in float32.

    Args:
        model: `smollm2`, `gemma3`, a GGUF file or a folder; see `located`.
        form: `chat` asks in the model's chat template; `completion` lets the model go on after
            `Answer:`; by default the template if there is one.
        device: as PyTorch calls it.
        say: called with what takes long.

    Attributes:
        front: the tokens that stand in front of every text.
        lead: the white space between a prompt and its answer.
        known: the tokens that both the tokenizer and the model have.
        stops: the tokens with which an answer ends, [token].
        goes_on: whether the model can go on from its cache of a prompt; otherwise the prompt is
            read again with every answer.

    Raises:
        HeadwayError: if the extra `llm` is not installed, the model cannot be loaded, or it does
            not read texts from left to right.
    """

    def __init__(
        self,
        model: str,
        form: Form | None = None,
        device: str = "cpu",
        say: Callable[[str], None] = lambda _: None,
    ):
        self.name, self.device = model, device
        self.tokenizer, self.model = loaded(located(model, say), say)
        has_template = bool(self.tokenizer.chat_template)
        allowed = "completion: this model has no template"
        require(form != "chat" or has_template, "form", form, allowed)
        self.form: Form = form or ("chat" if has_template else "completion")
        with self._reading():
            self.model = self.model.to(device).eval()
            self.front = [] if self.form == "chat" else self._front()
            self.lead = self._lead()
            self.known = set(self.tokenizer.get_vocab().values()) & set(range(self.columns))
            self.stops = self._stops()
            self.goes_on = self._goes_on()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with torch.no_grad(), clear_errors(f"{self.kind} cannot be asked:"):
            yield

    @property
    def context(self) -> int:
        """The number of tokens that the model was made for."""
        config = self.model.config.get_text_config()
        return getattr(config, "max_position_embeddings", None) or 2**31

    @property
    def columns(self) -> int:
        """The number of tokens that the model tells apart, be they the tokenizer's or none."""
        return self.model.config.get_text_config().vocab_size

    @property
    def kind(self) -> str:
        """The model's name and class, as errors tell them."""
        return f"{self.name} ({type(self.model).__name__})"

    def _front(self) -> list[int]:
        """The tokens that the tokenizer puts in front of every text.

        Raises:
            HeadwayError: if it also changes the text's own tokens.
        """
        bare, whole = self._ids(PROBE), self._ids(PROBE, add_special_tokens=True)
        for start in range(len(whole)):
            if whole[start : start + len(bare)] == bare:
                return whole[:start]
        raise HeadwayError(f"the special tokens of {self.name} change the text's own")

    def _lead(self) -> str:
        if self.form == "completion":
            return " "
        begun, whole = self._turns("?"), self._turns("?", "0")
        before = whole.removeprefix(begun).partition("0")[0]
        return before if before.isspace() else ""

    def _stops(self) -> Tensor:
        about = getattr(self.model, "generation_config", None) or self.model.config
        ends = getattr(about, "eos_token_id", None)
        ends = {self.tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}
        for number in self.known:
            text = self.tokenizer.decode([number])
            if text.startswith("\n") or text.lstrip(" ").startswith("."):
                ends.add(number)
        found = sorted(end for end in ends if end is not None and end < self.columns)
        require(bool(found), "model", self.name, "one with a token with which an answer ends")
        return torch.tensor(found, device=self.device)

    def _goes_on(self) -> bool:
        """Reads a text as a whole, and in two parts, by the cache.

        Raises:
            HeadwayError: if the model looks ahead.
        """
        ids = self.tokens(PROBE)[: min(100, self.context)]
        require(len(ids) > 4, "model", self.name, "one that reads letters, digits and full stops")
        prompt = torch.tensor(ids[:-2], device=self.device)
        rows = [ids[-2:], ids[:-3:-1]]
        one, other = (self.whole(prompt[None, :1], [ids[i]])[0, 0] for i in (1, 2))
        if (one - other).abs().max() > 1e-3 * one.std():
            raise HeadwayError(f"{self.kind} does not read from left to right")
        whole = self._after(prompt, None, rows)
        self.goes_on = True
        try:
            cache = self._read(prompt)[1]
            after = self._after(prompt, cache, rows)
        except Exception:  # where a cache is missing, or has parts that do not repeat
            return False
        same = (after - whole).abs().max() <= 1e-3 * whole.std()
        return cache is not None and bool(same)

    def text(self, prompt: str) -> str:
        """A prompt in the form in which it is put, without the tokens in `front`."""
        return f"{prompt}\nAnswer:" if self.form == "completion" else self._turns(prompt)

    def _turns(self, asked: str, answered: str | None = None) -> str:
        """A question, and an answer to it, in the chat template."""
        turns = [{"role": "user", "content": asked}]
        if answered is not None:
            turns.append({"role": "assistant", "content": answered})
        with clear_errors(f"the chat template of {self.name} cannot be used:"):
            return self.tokenizer.apply_chat_template(
                turns, add_generation_prompt=answered is None, tokenize=False
            )

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text that may go on: nothing stands behind them.

        Raises:
            HeadwayError: if the tokenizer cannot read the text, or the model does not know a token.
        """
        ids = [*self.front, *self._ids(text)]
        allowed = f"below {self.columns}, as {self.kind} has no more"
        require(max(ids, default=0) < self.columns, "token", max(ids, default=0), allowed)
        return ids

    def _ids(self, text: str, add_special_tokens: bool = False) -> list[int]:
        with clear_errors(f"the tokenizer of {self.name} cannot read {shown(text, 40)}:"):
            return self.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"]

    def cut(self, question: Question) -> tuple[Tensor, list[list[int]]]:
        """The tokens of a question as this model is asked, [token], and those of every acceptable
        answer behind it.

        Both are cut into tokens together. Where an answer changes the last tokens of the text
        before it, the prompt ends before these, and every answer begins there.

        Raises:
            HeadwayError: if they do not fit into the model's context or vocabulary, or do not tell
                the answers apart.
        """
        text = self.text(question.prompt)
        texts = [text, *(f"{text}{self.lead}{answer}" for answer in question.acceptable)]
        ways = list(map(self.tokens, texts))
        start = common_start(ways)
        options = [way[start:] for way in ways[1:]]
        if start == 0 or [] in options or len(set(map(tuple, options))) < len(options):
            raise HeadwayError(f"the tokens of {self.name} do not tell the answers apart")
        if start + max(map(len, options)) + 1 > self.context:
            raise HeadwayError(
                f"a prompt of {start} tokens ({question.formulation}, depth {question.depth},"
                f" chains {question.chains}) does not fit into the {self.context} of {self.name}"
            )
        return torch.tensor(ways[0][:start], device=self.device), options

    def answers(self, question: Question) -> tuple[list[float], list[float]]:
        """The log-probabilities of all acceptable answers: one pass over the prompt, one over them.

        Returns:
            Those of the tokens of each; and that the answer ends there, too: with the end of the
            turn or of the text, a line break or a full stop.

        Raises:
            HeadwayError: if the model puts out what is not a number, or rules an answer out: JSON
                keeps finite numbers alone.
        """
        prompt, options = self.cut(question)
        longest, said, ended = max(map(len, options)), [], []
        rows = [option + [0] * (longest - len(option)) for option in options]
        with self._reading():
            first, cache = self._read(prompt)
            for option, row in zip(options, self._after(prompt, cache, rows), strict=True):
                before = torch.cat([first[None], row[: len(option) - 1]])
                log_p = before.gather(1, torch.tensor(option, device=self.device)[:, None]).sum()
                said.append(log_p.item())
                ended.append((log_p + row[len(option) - 1, self.stops].logsumexp(0)).item())
        if not all(map(math.isfinite, said + ended)):
            raise HeadwayError("the model answers with values that are not finite")
        return said, ended

    def sample(self, question: Question, count: int, generator: torch.Generator) -> list[str]:
        """`count` independent answers at temperature 1, each up to where it ends.

        An answer in other tokens than those that `answers` counts is the same answer. One
        that cannot become acceptable any more is cut off there, with an ellipsis; draws that
        have said the same so far share a pass.
        """
        prompt, options = self.cut(question)
        drawn = [""] * count
        with self._reading():
            answers = {
                self._text(prompt, option): text
                for option, text in zip(options, question.acceptable, strict=True)
            }
            begun = {tuple(option[:n]) for option in options for n in range(1, len(option) + 1)}
            ends = set(self.stops.tolist())
            first, cache = self._read(prompt)
            log_p, open_draws = first[None], {(): list(range(count))}
            for _ in range(max(map(len, options)) + 2):
                going: dict[tuple[int, ...], list[int]] = {}
                for row, (said, draws) in zip(log_p.exp().cpu(), open_draws.items(), strict=True):
                    tokens = torch.multinomial(row, len(draws), True, generator=generator)
                    for draw, token in zip(draws, tokens.tolist(), strict=True):
                        more = (*said, token)
                        if token in ends and more not in begun:
                            text = self._text(prompt, said)
                            drawn[draw] = answers.get(text, text)
                        elif token not in self.known:
                            drawn[draw] = "…"
                        else:
                            text = self._text(prompt, more)
                            drawn[draw] = f"{text} …"
                            if any(answer.startswith(text) for answer in answers):
                                going.setdefault(more, []).append(draw)
                if not going:
                    break
                open_draws = going
                log_p = self._after(prompt, cache, list(map(list, going)))[:, -1]
        return drawn

    def _text(self, prompt: Tensor, tokens: Sequence[int]) -> str:
        """The text of tokens behind a prompt."""
        before = prompt.tolist()
        start = len(self.tokenizer.decode(before))
        return self.tokenizer.decode([*before, *tokens])[start:].removeprefix(self.lead)

    def whole(self, prompts: Tensor, row: Sequence[int]) -> Tensor:
        """Log-probabilities after each of some prompts of one length, and after every token of a
        row behind it, read without a cache, [prompt, 1 + token, next token]."""
        more = torch.tensor(row, dtype=torch.long, device=self.device)
        ids = torch.cat([prompts, more.expand(len(prompts), -1)], 1)
        kept = len(row) + 1
        logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=kept).logits
        return logits[:, -kept:].float().log_softmax(-1)

    def _after(self, prompt: Tensor, cache: Any, rows: list[list[int]]) -> Tensor:
        """Log-probabilities after every token of rows of one length, each told after the prompt
        that the cache, which stays as it is, comes from, [row, token, next token]."""
        if cache is None:
            return torch.cat([self.whole(prompt[None], row)[:, 1:] for row in rows])
        begun = copy.deepcopy(cache)
        begun.batch_repeat_interleave(len(rows))
        tokens = torch.tensor(rows, device=self.device)
        out = self.model(input_ids=tokens, past_key_values=begun, use_cache=True)
        return out.logits.float().log_softmax(-1)

    def _read(self, prompt: Tensor) -> tuple[Tensor, Any]:
        """Log-probabilities of what comes after a prompt, and the cache to go on with, if the model
        can."""
        if not self.goes_on:
            return self.whole(prompt[None], [])[0, 0], None
        out = self.model(input_ids=prompt[None], use_cache=True, logits_to_keep=1)
        return out.logits[0, -1].float().log_softmax(-1), out.past_key_values


def common_start(ways: Sequence[Sequence[int]]) -> int:
    """The number of tokens that all begin with alike."""
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*ways, strict=False))
    return sum(1 for _ in same)
