"""Where the words of a question stand among the tokens that a model reads."""

from dataclasses import dataclass

from torch import Tensor

from headway.errors import HeadwayError, require
from headway.language import LocalModel, Question, Span


@dataclass(frozen=True)
class Reading:
    """A question as a model reads it.

    Attributes:
        ids: the tokens, [token].
        spans: for every token the characters of the question's prompt that it stands for; those
            of a chat template and of what is added to the prompt lie outside of it.
    """

    ids: Tensor
    spans: tuple[Span, ...]

    def tokens(self, span: Span) -> list[int]:
        """The tokens that stand for some of these characters, in their order."""
        start, end = span
        return [i for i, (a, b) in enumerate(self.spans) if a < b and a < end and b > start]


def reading(model: LocalModel, question: Question) -> Reading:
    """Reads a question in the form in which the model is asked.

    Raises:
        HeadwayError: if the tokenizer does not tell which characters its tokens stand for, the
            chat template changes the question, or the prompt does not fit into the context.
    """
    ids, tokenizer = model.prompt(question), model.tokenizer
    require(tokenizer.is_fast, "model", model.name, "one with a fast tokenizer")
    text = model.text(question.prompt)
    start = text.find(question.prompt)
    if start < 0:
        raise HeadwayError(f"the chat template of {model.name} changes the question: ask it with"
                           " --form completion")  # fmt: skip
    told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    spans = [(0, 0)] * len(model.front) + [
        (a - start, b - start) for a, b in told["offset_mapping"]
    ]
    return Reading(ids, tuple(spans[: len(ids)]))
