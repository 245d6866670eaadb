"""Pairs of texts on the way to prompts as tokens, held against one another."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from headway.errors import HeadwayError, require, shown
from headway.tasks.prompts.answers import AnswerTokens
from headway.tasks.prompts.cutting import Cut, Cutter
from headway.tasks.prompts.marks import Span
from headway.tasks.prompts.pair import Pair


class Prompt(NamedTuple):
    """A pair of texts as tokens.

    Attributes:
        clean: its tokens, those in front among them.
        corrupted: as many.
        answers: the number of its answers among all.
        places: the token of every role, in the order of the roles.
    """

    clean: tuple[int, ...]
    corrupted: tuple[int, ...]
    answers: int
    places: tuple[int, ...]


class Making:
    """Prompts in the making: what is common to all of them so far.

    Attributes:
        answers: as tokens, no two alike.
        roles: that words play; None before the first pair.
        n_tokens: tokens that the model tells apart.
    """

    def __init__(self, cutter: Cutter, start: str | None, n_tokens: int | None):
        self.cutter = cutter
        self.front = self._front(start)
        self.answers = list[AnswerTokens]()
        self.roles: tuple[str, ...] | None = None
        known = n_tokens or cutter.count
        if known is None:
            raise HeadwayError(
                "n_tokens is missing: this tokenizer does not tell how many tokens"
                " there are"
            )
        self.n_tokens = known

    def _front(self, start: str | None) -> list[int]:
        """The tokens that every prompt begins with."""
        if start is None:
            return self.cutter.front()
        return [self.cutter.token(start, "start")] if start else []

    def prompt(self, pair: Pair) -> Prompt:
        """A pair as tokens.

        Raises:
            HeadwayError: if both texts have not as many tokens, an answer is not one
                token, or a role does not end where a token ends.
        """
        clean, corrupted = pair.marked()
        cut = self.cutter.cut(clean.text)
        other = self.cutter.cut(corrupted.text)
        self._require_same_length(pair, cut, other)
        self._require_same_roles(pair, tuple(clean.spans))
        places = self._places(pair, cut, clean.spans)
        self._require_same_places(pair, places, other, corrupted.spans)
        self._require_known(pair, (*self.front, *cut.ids, *other.ids))
        tokens = self._answers(pair, clean.text, cut.ids)
        if tokens not in self.answers:
            self.answers.append(tokens)
        moved = [place + len(self.front) for place in places.values()]
        return Prompt(
            clean=(*self.front, *cut.ids),
            corrupted=(*self.front, *other.ids),
            answers=self.answers.index(tokens),
            places=tuple(moved),
        )

    def _places(
        self, pair: Pair, cut: Cut, spans: Mapping[str, Span]
    ) -> dict[str, int]:
        """The last token of every role in the clean text."""
        places = dict[str, int]()
        for role in self.roles or ():
            places[role] = self._place(pair, "clean", cut, role, spans[role])
        return places

    def _require_same_length(self, pair: Pair, clean: Cut, corrupted: Cut) -> None:
        """Makes sure that both texts have as many tokens."""
        wanted = len(clean.ids)
        count = len(corrupted.ids)
        if count != wanted:
            words = "|".join(map(self.cutter.word, corrupted.ids))
            raise HeadwayError(
                f"{pair.where}: corrupted has {count} tokens, where clean has {wanted}:"
                f" both must have as many; it is cut {shown(words)}"
            )
        same = clean.ids == corrupted.ids
        require(not same, f"{pair.where}: corrupted", pair.corrupted, "other tokens")

    def _require_same_roles(self, pair: Pair, roles: tuple[str, ...]) -> None:
        """Makes sure that all pairs have the same roles."""
        if self.roles is None:
            self.roles = roles
        for role in {*roles} ^ {*self.roles}:
            is_new = role in roles
            what = "is marked here alone" if is_new else "is missing here"
            why = "all pairs must have the same roles"
            raise HeadwayError(f"{pair.where}: role {role} {what}: {why}")

    def _place(self, pair: Pair, name: str, cut: Cut, role: str, span: Span) -> int:
        """The last token of a role.

        Raises:
            HeadwayError: if it begins or ends inside a token.
        """
        field = f"{pair.where}: {name}: role {role}"
        text = getattr(pair, name)
        within = list[int]()
        for number, token in enumerate(cut.spans):
            if token.start < span.stop and token.stop > span.start:
                within.append(number)
        allowed = "one that ends where a token ends"
        require(bool(within), field, text, allowed)
        first, last = cut.spans[within[0]], cut.spans[within[-1]]
        require(last.stop == span.stop, field, text, allowed)
        # A token may begin with the space in front of a word.
        allowed = "one that begins where a token begins"
        require(span.start - first.start <= 1, field, text, allowed)
        return within[-1]

    def _require_same_places(
        self,
        pair: Pair,
        places: dict[str, int],
        cut: Cut,
        spans: Mapping[str, Span],
    ) -> None:
        """Makes sure that roles which are marked in the corrupted text, too, stand
        where they stand in the clean one.
        """
        for role, span in spans.items():
            place = self._place(pair, "corrupted", cut, role, span)
            known = places.get(role)
            allowed = "token by token where clean has it: there it is marked"
            field = f"{pair.where}: corrupted: place of role {role}"
            require(place == known, field, place, f"{known}, {allowed}")

    def _require_known(self, pair: Pair, tokens: tuple[int, ...]) -> None:
        """Makes sure that the model knows all tokens."""
        largest = max(tokens)
        allowed = f"below {self.n_tokens}, as the model has no more"
        require(largest < self.n_tokens, f"{pair.where}: token", largest, allowed)

    def _answers(self, pair: Pair, text: str, ids: list[int]) -> AnswerTokens:
        """The answers of a pair as tokens.

        Raises:
            HeadwayError: if one is not one token behind the text, or is right and
                wrong.
        """
        kinds = list[tuple[int, ...]]()
        for name, answers in zip(("right", "wrong"), pair.answers, strict=True):
            token_of = partial(self._answer, pair, name, text, ids)
            kinds.append(tuple(map(token_of, answers)))
        right, wrong = kinds
        both = {*right} & {*wrong}
        words = [self.cutter.word(token) for token in both]
        field = f"{pair.where}: wrong"
        require(not both, field, words, "other answers than those that are right")
        self._require_known(pair, (*right, *wrong))
        return right, wrong

    def _answer(
        self, pair: Pair, name: str, text: str, ids: list[int], answer: str
    ) -> int:
        """The token of an answer behind a text."""
        field = f"{pair.where}: {name}"
        whole = self.cutter.ids(text + answer)
        if len(whole) == len(ids) + 1 and whole[:-1] == ids:
            return whole[-1]
        spaced = self.cutter.ids(f"{text} {answer}")
        hint = ""
        if text[-1].isspace():
            hint = "; a space belongs to the answer, not to the end of the text"
        elif len(spaced) == len(ids) + 1 and spaced[:-1] == ids:
            hint = f"; did you mean {shown(f' {answer}')}?"
        words = "|".join(map(self.cutter.word, whole[-6:]))
        raise HeadwayError(
            f"{field} = {shown(answer)} is not allowed: it must be one token behind the"
            f" text, which then ends with {shown(words)}{hint}"
        )

    def words(self, prompts: Iterable[Prompt]) -> tuple[tuple[int, str], ...]:
        """The texts of all tokens in some prompts and their answers."""
        tokens = set[int]()
        for prompt in prompts:
            tokens.update(prompt.clean, prompt.corrupted)
        for right, wrong in self.answers:
            tokens.update(right, wrong)
        return tuple((token, self.cutter.word(token)) for token in sorted(tokens))
