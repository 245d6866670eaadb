"""A local language model: what it answers, by exact probabilities."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Literal

import torch
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.tasks.prompts import PROBE, Cutter
from headway.training.files import clear_errors
from headway_experiments.language.loading import loaded, located
from headway_experiments.language.question import Question

Form = Literal["chat", "completion"]


class LocalModel:
    """A causal language model and its tokenizer, on the CPU or a GPU, in float32.

    Args:
        model: `smollm2`, `gemma3`, a GGUF file or a folder; see `located`.
        form: `chat` asks in the model's chat template; `completion` lets the model go
            on after `Answer:`; by default the template if there is one.
        device: as PyTorch calls it.
        say: called with what takes long.

    Attributes:
        front: the tokens that stand in front of every text.
        lead: the white space between a prompt and its answer.
        stops: the tokens with which an answer ends, [token].
        goes_on: whether the model can go on from its cache of a prompt; otherwise the
            prompt is read again with every answer.

    Raises:
        HeadwayError: if the extra `llm` is not installed, the model cannot be loaded,
            or it does not read texts from left to right.
    """

    def __init__(
        self,
        model: str,
        form: Form | None = None,
        device: str = "cpu",
        say: Callable[[str], None] = lambda _: None,
    ):
        self.name = model
        self.device = device
        self.tokenizer, self.model = loaded(located(model, say), say)
        self.cutter = Cutter(self.tokenizer, f"the tokenizer of {model}")
        has_template = bool(self.tokenizer.chat_template)
        allowed = "completion: this model has no template"
        require(form != "chat" or has_template, "form", form, allowed)
        self.form: Form = form or ("chat" if has_template else "completion")
        with self._reading():
            self.model = self.model.to(device).eval()
            self.front = [] if self.form == "chat" else self.cutter.front()
            self.lead = self._lead()
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
        """The number of tokens that the model tells apart, be they the tokenizer's or
        none.
        """
        return self.model.config.get_text_config().vocab_size

    @property
    def kind(self) -> str:
        """The model's name and class, as errors tell them."""
        return f"{self.name} ({type(self.model).__name__})"

    def _lead(self) -> str:
        if self.form == "completion":
            return " "
        begun = self._turns("?")
        whole = self._turns("?", "0")
        before = whole.removeprefix(begun).partition("0")[0]
        return before if before.isspace() else ""

    def _stops(self) -> Tensor:
        about = getattr(self.model, "generation_config", None) or self.model.config
        named = getattr(about, "eos_token_id", None)
        ends = {self.tokenizer.eos_token_id}
        ends.update(named if isinstance(named, list) else [named])
        for number in {*self.tokenizer.get_vocab().values()} & {*range(self.columns)}:
            text = self.tokenizer.decode([number])
            if text.startswith("\n") or text.lstrip(" ").startswith("."):
                ends.add(number)
        stops = sorted(end for end in ends if end is not None and end < self.columns)
        require(
            bool(stops),
            "model",
            self.name,
            "one with a token with which an answer ends",
        )
        return torch.tensor(stops, device=self.device)

    def _goes_on(self) -> bool:
        """Reads a text as a whole, and in two parts, by the cache.

        Raises:
            HeadwayError: if the model looks ahead.
        """
        most = min(100, self.context)
        ids = self.tokens(PROBE)[:most]
        require(
            len(ids) > 4,
            "model",
            self.name,
            "one that reads letters, digits and full stops",
        )
        prompt = torch.tensor(ids[:-2], device=self.device)
        first = self._whole(prompt[:1], [ids[1]])[0]
        second = self._whole(prompt[:1], [ids[2]])[0]
        if (first - second).abs().max() > 1e-3 * first.std():
            raise HeadwayError(f"{self.kind} does not read from left to right")
        rows = [ids[-2:], ids[:-3:-1]]
        whole = self._behind(prompt, rows, cached=False)
        try:
            after = self._behind(prompt, rows, cached=True)
        except Exception:  # where a cache is missing, or has parts that do not repeat
            return False
        apart = (after - whole).abs().max()
        return bool(apart <= 1e-3 * whole.std())

    def text(self, prompt: str) -> str:
        """A prompt in the form in which it is put, without the tokens in `front`."""
        return (
            f"{prompt}\nAnswer:" if self.form == "completion" else self._turns(prompt)
        )

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
            HeadwayError: if the tokenizer cannot read the text, or the model does not
                know a token.
        """
        ids = [*self.front, *self.cutter.ids(text)]
        largest = max(ids, default=0)
        allowed = f"below {self.columns}, as {self.kind} has no more"
        require(largest < self.columns, "token", largest, allowed)
        return ids

    def cut(self, question: Question) -> tuple[Tensor, list[list[int]]]:
        """The tokens of a question as this model is asked, [token], and those of every
        acceptable answer behind it.

        Both are cut into tokens together. Where an answer changes the last tokens of
        the text before it, the prompt ends before these, and every answer begins there.

        Raises:
            HeadwayError: if they do not fit into the model's context or vocabulary, or
                do not tell the answers apart.
        """
        text = self.text(question.prompt)
        begin = self.tokens(text)
        wholes = [
            self.tokens(f"{text}{self.lead}{answer}") for answer in question.acceptable
        ]
        start = common_start([begin, *wholes])
        options = [whole[start:] for whole in wholes]
        different = {tuple(option) for option in options}
        if start == 0 or [] in options or len(different) < len(options):
            raise HeadwayError(
                f"the tokens of {self.name} do not tell the answers apart"
            )
        longest = max(map(len, options))
        if start + longest + 1 > self.context:
            which = (
                f"{question.formulation}, depth {question.depth}, chains "
                f"{question.chains}"
            )
            prompt = f"a prompt of {start} tokens ({which})"
            raise HeadwayError(
                f"{prompt} does not fit into the {self.context} of {self.name}"
            )
        return torch.tensor(begin[:start], device=self.device), options

    def answers(self, question: Question) -> tuple[list[float], list[float]]:
        """The log-probabilities of all acceptable answers: one pass over the prompt,
        one over them.

        Returns:
            Those of the tokens of each; and that the answer ends there, too: with the
            end of the turn or of the text, a line break or a full stop.

        Raises:
            HeadwayError: if the model puts out what is not a number, or rules an answer
                out: JSON keeps finite numbers alone.
        """
        prompt, options = self.cut(question)
        rows = _padded(options)
        said = []
        ended = []
        with self._reading():
            behind = self._behind(prompt, rows, self.goes_on)
            for option, log_ps in zip(options, behind, strict=True):
                log_p = self._log_p(option, log_ps)
                end = log_ps[len(option), self.stops].logsumexp(0)
                said.append(log_p.item())
                ended.append((log_p + end).item())
        if not all(map(math.isfinite, said + ended)):
            raise HeadwayError("the model answers with values that are not finite")
        return said, ended

    def _log_p(self, tokens: list[int], log_ps: Tensor) -> Tensor:
        """The log-probability of tokens, by those of every token at every place."""
        column = torch.tensor(tokens, device=self.device)[:, None]
        return log_ps[: len(tokens)].gather(1, column).sum()

    def _behind(self, prompt: Tensor, rows: list[list[int]], cached: bool) -> Tensor:
        """Log-probabilities after a prompt, and after every token of rows of one length
        behind it, [row, 1 + token, next token]; the prompt is read once for all rows,
        or with every row."""
        if not cached:
            return torch.stack([self._whole(prompt, row) for row in rows])
        out = self.model(input_ids=prompt[None], use_cache=True, logits_to_keep=1)
        last = out.logits[:, -1:]
        first = last.expand(len(rows), -1, -1)
        cache = out.past_key_values
        cache.batch_repeat_interleave(len(rows))
        tokens = torch.tensor(rows, device=self.device)
        more = self.model(
            input_ids=tokens, past_key_values=cache, use_cache=True
        ).logits
        logits = torch.cat([first, more], 1)
        return logits.float().log_softmax(-1)

    def _whole(self, prompt: Tensor, row: list[int]) -> Tensor:
        """Log-probabilities of one row without a cache, [1 + token, next token]."""
        after = torch.tensor(row, device=self.device)
        ids = torch.cat([prompt, after])
        kept = len(row) + 1
        out = self.model(input_ids=ids[None], use_cache=False, logits_to_keep=kept)
        return out.logits[0, -kept:].float().log_softmax(-1)


def _padded(options: list[list[int]]) -> list[list[int]]:
    """Token lists of one length, with zeros behind, which nothing before them attends
    to.
    """
    longest = max(map(len, options))
    rows = []
    for option in options:
        zeros = [0] * (longest - len(option))
        rows.append(option + zeros)
    return rows


def common_start(ways: Sequence[Sequence[int]]) -> int:
    """The number of tokens that all begin with alike."""
    at_once = zip(*ways, strict=False)
    same = takewhile(lambda tokens: len(set(tokens)) == 1, at_once)
    return sum(1 for _ in same)
