"""A local language model: what it answers, by exact probabilities and by sampling."""

import contextlib
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
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
            `Answer:`. None takes the template if there is one.
        device: as PyTorch calls it.
        say: told what takes long.

    Raises:
        HeadwayError: if the extra `llm` is not installed, or the model cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        form: Form | None = None,
        device: str = "cpu",
        say: Callable[[str], None] = lambda _: None,
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
        if self.form == "chat":
            turn = [{"role": "user", "content": question.prompt}]
            ids = self.tokenizer.apply_chat_template(
                turn, add_generation_prompt=True, return_dict=True
            )["input_ids"]
        else:
            ids = self.tokenizer(f"{question.prompt}\nAnswer:")["input_ids"]
        longest = max(len(self.answer(text)) for text in question.acceptable)
        if len(ids) + longest + 1 > self.context:
            raise HeadwayError(
                f"a prompt of {len(ids)} tokens ({question.formulation}, depth {question.depth},"
                f" chains {question.chains}) does not fit into the {self.context} of {self.name}"
            )
        return torch.tensor(ids, device=self.device)

    def answer(self, text: str) -> list[int]:
        """The tokens of an answer where the model is to give it."""
        said = text if self.form == "chat" else f" {text}"
        return self.tokenizer(said, add_special_tokens=False)["input_ids"]

    @torch.no_grad()
    def answers(self, question: Question) -> Answers:
        """The probabilities of all acceptable answers: one pass over the prompt, one over them."""
        options = [self.answer(text) for text in question.acceptable]
        first, cache = self._read(self.prompt(question))
        longest = max(map(len, options))
        padded = torch.tensor([o + [0] * (longest - len(o)) for o in options], device=self.device)
        cache.batch_repeat_interleave(len(options))
        after = self.model(input_ids=padded, past_key_values=cache, use_cache=True).logits
        after = after.float().log_softmax(-1)
        said, ended = [], []
        for row, option in enumerate(options):
            before = torch.cat([first[None], after[row, : len(option) - 1]])
            log_p = before.gather(1, torch.tensor(option, device=self.device)[:, None]).sum()
            said.append(log_p.item())
            stop = after[row, len(option) - 1, self.stops].logsumexp(0)
            ended.append((log_p + stop).item())
        return Answers(said, ended)

    @torch.no_grad()
    def sample(self, question: Question, count: int, generator: torch.Generator) -> list[str]:
        """So many independent answers at temperature 1, each up to where it ends.

        An answer may be told in other tokens than those that `answers` counts; it is the same.
        What is longer than any acceptable answer is cut off there; it is none.
        """
        first, cache = self._read(self.prompt(question))
        most = max(len(self.answer(text)) for text in question.acceptable) + 2
        cache.batch_repeat_interleave(count)
        log_p = first.expand(count, -1)
        drawn: list[Tensor] = []
        done = torch.zeros(count, dtype=torch.bool, device=self.device)
        for _ in range(most):
            token = torch.multinomial(log_p.exp().cpu(), 1, generator=generator)[:, 0]
            token = token.to(self.device)
            drawn.append(token.masked_fill(done, -1))
            done |= torch.isin(token, self.stops)
            if done.all():
                break
            out = self.model(input_ids=token[:, None], past_key_values=cache, use_cache=True)
            log_p = out.logits[:, -1].float().log_softmax(-1)
        stops = set(self.stops.tolist())
        told = []
        for row in torch.stack(drawn, 1).tolist():
            ended = next((i for i, token in enumerate(row) if token in stops), None)
            kept = row if ended is None else row[:ended]
            text = self.tokenizer.decode(kept)
            text = text if self.form == "chat" else text.removeprefix(" ")
            told.append(text if ended is not None else f"{text} …")
        return told

    def _read(self, prompt: Tensor) -> tuple[Tensor, Any]:
        """Log-probabilities of what comes after a prompt, and the cache to go on with."""
        out = self.model(input_ids=prompt[None], use_cache=True, logits_to_keep=1)
        return out.logits[0, -1].float().log_softmax(-1), out.past_key_values


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
    if path.is_file():
        where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars that cannot be turned off
            tokenizer = AutoTokenizer.from_pretrained(**where)
            model = AutoModelForCausalLM.from_pretrained(
                **where, dtype=torch.float32, attn_implementation="eager"
            )
    except Exception as error:  # what damaged files raise is not documented
        raise HeadwayError(f"{path} cannot be loaded: {first_line(error)}") from error
    return tokenizer, model
