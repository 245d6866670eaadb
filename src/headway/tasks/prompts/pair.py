"""A pair of texts as a user gives it, and what is wrong with one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.errors import HeadwayError, nearest, require, shown
from headway.tasks.prompts.marks import Marked, Span, require_role, unmarked

FIELDS = ("clean", "corrupted", "right", "wrong", "roles")
"""Of a pair; all but the last must be there."""


NEEDED = FIELDS[:-1]


def require_fields(
    given: Any, where: str, known: Sequence[str], needed: Sequence[str] = ()
) -> None:
    """Makes sure that data is an object with no fields but those that are known.

    Args:
        given: the data.
        where: it is from.
        known: names that fields may have.
        needed: those that must be there.

    Raises:
        HeadwayError: if not.
    """
    allowed = f"an object with {', '.join(needed or known)}"
    require(isinstance(given, Mapping), where, given, allowed)
    for name in given:
        if name not in known:
            there_are = ", ".join(known)
            hint = nearest(str(name), known)
            what = f"{shown(name)} is no field: there are {there_are}{hint}"
            raise HeadwayError(f"{where}: {what}")
    for name in needed:
        if name not in given:
            raise HeadwayError(f"{where}: {name} is missing")


@dataclass(frozen=True)
class Pair:
    """A clean text and a corrupted one, with what the clean one is to go on with.

    Attributes:
        clean: a text that ends where the answer begins; words may be marked with the
            role that they play, as in `When {IO:Mary} and {S1:John} went`.
        corrupted: the same but for what the answer depends on, of as many tokens.
        right: what the clean text goes on with, with the space in front of it; or
            several texts, any of which is right.
        wrong: what the corrupted text would go on with, or another wrong answer; or
            several.
        roles: words of the clean text by the role that they play, beside those marked.
        where: the pair is from, for errors.
    """

    clean: str
    corrupted: str
    right: str | tuple[str, ...]
    wrong: str | tuple[str, ...]
    roles: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    def _field(self, name: str) -> str:
        return f"{self.where}: {name}"

    @classmethod
    def read(cls, given: Any, where: str) -> "Pair":
        """A pair of its fields by name, as JSON holds it.

        Args:
            given: an object of fields, or a pair.
            where: it is from.

        Raises:
            HeadwayError: if a field is unknown, missing or not allowed.
        """
        if isinstance(given, cls):
            where = given.where or where
            given = {name: getattr(given, name) for name in FIELDS}
        require_fields(given, where, FIELDS, NEEDED)
        for name in ("clean", "corrupted"):
            text = given[name]
            is_text = isinstance(text, str) and text.strip() != ""
            allowed = "a text that is not empty"
            require(is_text, f"{where}: {name}", text, allowed)
        right = _answers(given["right"], f"{where}: right")
        wrong = _answers(given["wrong"], f"{where}: wrong")
        roles = given.get("roles", {})
        is_object = isinstance(roles, Mapping)
        require(is_object, f"{where}: roles", roles, "an object of texts by role")
        texts = given["clean"], given["corrupted"]
        return cls(*texts, right, wrong, roles, where)

    @property
    def answers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The right answers, and the wrong ones."""
        return _several(self.right), _several(self.wrong)

    def marked(self) -> tuple[Marked, Marked]:
        """Both texts without their marks, the roles of the clean one by mark and by
        word.

        Raises:
            HeadwayError: if marks are not closed, or a word does not stand there once.
        """
        clean = unmarked(self.clean, self._field("clean"))
        corrupted = unmarked(self.corrupted, self._field("corrupted"))
        spans = dict(clean.spans)
        for role, word in self.roles.items():
            spans[role] = self._span_of(role, word, clean)
        different = clean.text != corrupted.text
        allowed = "another text than clean: nothing is corrupted"
        require(different, self._field("corrupted"), corrupted.text, allowed)
        return Marked(clean.text, spans), corrupted

    def _span_of(self, role: str, word: Any, clean: Marked) -> Span:
        """The place of a word that plays a role."""
        where = self._field("roles")
        require_role(role, where)
        field = f"{where}: {role}"
        is_word = isinstance(word, str) and word != ""
        require(is_word, field, word, "a word of the clean text")
        is_new = role not in clean.spans
        require(is_new, field, word, "left out: a mark names it, too")
        times = clean.text.count(word)
        text = shown(clean.text, 60)
        require(times > 0, field, word, f"in the clean text {text}")
        allowed = (
            f"marked in the text, {{{role}:{word}}}: it stands there {times} times"
        )
        require(times == 1, field, word, allowed)
        start = clean.text.index(word)
        return Span(start, start + len(word))


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Answers as a tuple, if there is one."""
    return (given,) if isinstance(given, str) else given


def _answers(given: Any, field: str) -> tuple[str, ...]:
    """Answers, of which there must be some, and none of them empty."""
    allowed = "a text, or a list of texts, none of them empty"
    require(is_texts(given), field, given, allowed)
    return (given,) if isinstance(given, str) else tuple(given)


def is_texts(given: Any) -> bool:
    """Tell whether something is a text, or a list of texts, none of them empty."""
    several = [given] if isinstance(given, str) else given
    is_list = isinstance(several, list | tuple) and len(several) > 0
    return is_list and all(isinstance(text, str) and text for text in several)


def pairs_of(given: Iterable[Any]) -> list[Pair]:
    """Pairs of whatever holds them, numbered from 1 for errors.

    Raises:
        HeadwayError: if one is wrong, or there are none.
    """
    is_text = isinstance(given, str | Mapping)
    is_list = isinstance(given, Iterable) and not is_text
    require(is_list, "pairs", given, "a list of pairs")
    pairs = list[Pair]()
    for number, entry in enumerate(given, 1):
        pair = Pair.read(entry, f"pair {number}")
        pairs.append(pair)
    require(bool(pairs), "pairs", pairs, "at least one pair")
    return pairs
