"""A local language model: what it answers, by exact probabilities and by sampling."""

import contextlib
import copy
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.language.question import Question
from headway.language.weights import located
from headway.training.files import first_line

Form = Literal["chat", "completion"]


@dataclass(frozen=True)
class Answers:
    """How probable every acceptable answer is.

    Attributes:
        said: the log-probability of the tokens of each, in the order of `Question.acceptable`.
        ended: the same, and that the answer ends there: with the end of the turn or of the text,
            a line break or a full stop.
    """

    said: list[float]
    ended: list[float]


class LocalModel:
    """A causal language model and its tokenizer, on the CPU or a GPU, in float32.

    Args:
        model: `smollm2`, `gemma3`, a GGUF file or a folder; see `located`.
        form: `chat` asks in the model's chat template; `completion` lets the model go on after
            `Answer:`; by default the template if there is one.
        device: as PyTorch calls it.
        say: called with what takes long.
        keep: whether to read the common beginning of all prompts only once, and a prompt that is
            repeated; not for a model that is changed between questions.

    Raises:
        HeadwayError: if the extra `llm` is not installed, or the model cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        form: Form | None = None,
        device: str = "cpu",
        say: Callable[[str], None] = lambda _: None,
        keep: bool = False,
    ):
        path = located(model, say)
        self.name, self.device = model, device
        self.tokenizer, self.model = _loaded(path, say)
        self.model = self.model.to(device).eval()
        has_template = bool(self.tokenizer.chat_template)
        require(
            form != "chat" or has_template, "form", form, "completion: this model has no template"
        )
        self.form: Form = form or ("chat" if has_template else "completion")
        self.stops = self._stops()
        self.keep = keep
        self._beginning, self._begun = self._begin() if keep else ([], None)
        self._last: tuple[list[int], Tensor, Any] | None = None

    @property
    def context(self) -> int:
        """How many tokens the model was made for."""
        return int(getattr(self.model.config, "max_position_embeddings", 2**31))

    def _stops(self) -> Tensor:
        """The tokens with which an answer ends."""
        ends = self.model.generation_config.eos_token_id
        ends = {self.tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}
        for number in range(len(self.tokenizer)):
            text = self.tokenizer.decode([number])
            if text.startswith("\n") or text.lstrip(" ").startswith("."):
                ends.add(number)
        return torch.tensor(sorted(end for end in ends if end is not None), device=self.device)

    def prompt(self, question: Question) -> Tensor:
        """The tokens of a question as this model is asked, [token].

        Raises:
            HeadwayError: if they do not fit into the model's context.
        """
        ids = self._tokens(question.prompt)
        longest = max(len(self.answer(text)) for text in question.acceptable)
        if len(ids) + longest + 1 > self.context:
            raise HeadwayError(
                f"a prompt of {len(ids)} tokens ({question.formulation}, depth {question.depth},"
                f" chains {question.chains}) does not fit into the {self.context} of {self.name}"
            )
        return torch.tensor(ids, device=self.device)

    def _tokens(self, prompt: str) -> list[int]:
        """The tokens of a prompt in the form in which it is put."""
        if self.form == "completion":
            return self.tokenizer(f"{prompt}\nAnswer:")["input_ids"]
        turn = [{"role": "user", "content": prompt}]
        told = self.tokenizer.apply_chat_template(
            turn, add_generation_prompt=True, return_dict=True
        )
        return told["input_ids"]

    @torch.no_grad()
    def _begin(self) -> tuple[list[int], Any]:
        """The tokens with which every prompt begins, as chat templates have many, and what the
        model keeps of them: they are read once."""
        pairs = zip(self._tokens("What"), self._tokens("b = 2"), strict=False)
        same = list(takewhile(lambda pair: pair[0] == pair[1], pairs))
        if len(same) < 2:
            return [], None
        ids = [token for token, _ in same]
        tokens = torch.tensor([ids], device=self.device)
        return ids, self.model(input_ids=tokens, use_cache=True, logits_to_keep=1).past_key_values

    def answer(self, text: str) -> list[int]:
        """The tokens of an answer where the model is to give it."""
        said = text if self.form == "chat" else f" {text}"
        return self.tokenizer(said, add_special_tokens=False)["input_ids"]

    @torch.no_grad()
    def answers(self, question: Question) -> Answers:
        """The probabilities of all acceptable answers: one pass over the prompt, one over them."""
        options, padded = self.options(question)
        first, cache = self._read(self.prompt(question))
        return self.told(options, first, self._after(cache, padded))

    def options(self, question: Question) -> tuple[list[list[int]], list[list[int]]]:
        """The tokens of every acceptable answer, and the same filled up to one length."""
        options = [self.answer(text) for text in question.acceptable]
        longest = max(map(len, options))
        return options, [option + [0] * (longest - len(option)) for option in options]

    def told(self, options: list[list[int]], first: Tensor, after: Tensor) -> Answers:
        """How probable answers are.

        Args:
            options: their tokens.
            first: log-probabilities of what comes after the prompt, [next token].
            after: likewise after every token of every answer, [option, token, next token].

        Raises:
            HeadwayError: if the model puts out what is not a number, or rules an answer out: JSON
                keeps finite numbers alone.
        """
        said, ended = [], []
        for option, row in zip(options, after, strict=True):
            before = torch.cat([first[None], row[: len(option) - 1]])
            log_p = before.gather(1, torch.tensor(option, device=self.device)[:, None]).sum()
            said.append(log_p.item())
            ended.append((log_p + row[len(option) - 1, self.stops].logsumexp(0)).item())
        if not all(map(math.isfinite, said + ended)):
            raise HeadwayError("the model answers with values that are not finite")
        return Answers(said, ended)

    @torch.no_grad()
    def sample(self, question: Question, count: int, generator: torch.Generator) -> list[str]:
        """`count` independent answers at temperature 1, each up to where it ends.

        An answer in other tokens than those that `answers` counts is the same answer. One
        that cannot become acceptable any more is cut off there, with an ellipsis; draws that
        have said the same so far share a pass.
        """
        first, cache = self._read(self.prompt(question))
        longest = max(len(self.answer(text)) for text in question.acceptable)
        stops = set(self.stops.tolist())
        told = [""] * count
        open_draws: dict[tuple[int, ...], list[int]] = {(): list(range(count))}
        log_p = first[None]
        for _ in range(longest + 2):
            going: dict[tuple[int, ...], list[int]] = {}
            for row, (said, draws) in zip(log_p.exp().cpu(), open_draws.items(), strict=True):
                tokens = torch.multinomial(row, len(draws), True, generator=generator)
                for draw, token in zip(draws, tokens.tolist(), strict=True):
                    if token in stops:
                        told[draw] = self._text(said)
                        continue
                    text = self._text((*said, token))
                    told[draw] = f"{text} …"
                    if any(answer.startswith(text) for answer in question.acceptable):
                        going.setdefault((*said, token), []).append(draw)
            if not going:
                break
            open_draws = going
            log_p = self._after(cache, list(map(list, going)))[:, -1]
        return told

    def _text(self, tokens: Sequence[int]) -> str:
        """What tokens say in the place of an answer."""
        text = self.tokenizer.decode(list(tokens))
        return text if self.form == "chat" else text.removeprefix(" ")

    def _after(self, cache: Any, rows: list[list[int]]) -> Tensor:
        """Log-probabilities after every token of rows of one length, each told after the prompt
        that the cache, which stays as it is, comes from, [row, token, next token]."""
        prompt = copy.deepcopy(cache)
        prompt.batch_repeat_interleave(len(rows))
        tokens = torch.tensor(rows, device=self.device)
        out = self.model(input_ids=tokens, past_key_values=prompt, use_cache=True)
        return out.logits.float().log_softmax(-1)

    def _read(self, prompt: Tensor) -> tuple[Tensor, Any]:
        """Log-probabilities of what comes after a prompt, and the cache to go on with; of the
        prompt that was read last, they are at hand."""
        ids = prompt.tolist()
        if self._last is None or self._last[0] != ids or not self.keep:
            start = len(self._beginning)
            begun = ids[:start] == self._beginning and start < len(ids)
            out = self.model(
                input_ids=prompt[None, start if begun else 0 :],
                past_key_values=copy.deepcopy(self._begun) if begun else None,
                use_cache=True,
                logits_to_keep=1,
            )
            self._last = ids, out.logits[0, -1].float().log_softmax(-1), out.past_key_values
        return self._last[1], self._last[2]


def expectation(answers: Answers, question: Question) -> float:
    """The probability that the paper's protocol, asking until the answer is acceptable, ends with
    the right one. Zero if no acceptable answer has any probability."""
    top = max(answers.ended)
    if top == -math.inf:
        return 0.0
    weights = [math.exp(log_p - top) for log_p in answers.ended]
    return weights[question.acceptable.index(question.correct)] / sum(weights)


def best(answers: Answers, question: Question) -> str:
    """The acceptable answer whose tokens are the most probable."""
    return question.acceptable[max(range(len(answers.said)), key=answers.said.__getitem__)]


def _loaded(path: Path, say: Callable[[str], None]) -> tuple[Any, Any]:
    """Tokenizer and model.

    Raises:
        HeadwayError: if Transformers is not installed, or the files are damaged.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise HeadwayError(f"{error.name} is not installed: pip install 'headway[llm]'") from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    say(f"loading {path.name}")
    where: dict[str, Any] = {"pretrained_model_name_or_path": str(path), "local_files_only": True}
    weights: dict[str, Any] = {"use_safetensors": True}  # not pickles, which can hold a program
    if path.is_file():
        where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        weights = {}
    where["trust_remote_code"] = False  # nor Python files that a folder may hold
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars that cannot be turned off
            tokenizer = AutoTokenizer.from_pretrained(**where)
            model = AutoModelForCausalLM.from_pretrained(
                **where, **weights, dtype=torch.float32, attn_implementation="eager"
            )
    except Exception as error:  # what damaged files raise is not documented
        raise HeadwayError(f"{path} cannot be loaded: {first_line(error)}") from error
    return tokenizer, model
