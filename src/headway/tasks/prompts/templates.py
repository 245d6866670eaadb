"""Templates: `When {IO} and {S1} went to the {place}`, filled from lists of words.

A field is named after a list, and of a name with digits behind it, the list without
them will do: `{S1}` and `{S2}` are the same word of the list `S`. Words of different
lists are different in one text. An entry of a list may be a table of words that belong
together: `{P.name}` and `{P.pronoun}` are of the same entry of `P`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, NamedTuple

from annotated_types import Ge, Le

from headway.errors import HeadwayError, nearest, require, shown
from headway.fields import NotNegative, require_allowed
from headway.tasks.prompts.marks import LITERAL, PART, require_role
from headway.tasks.prompts.pair import FIELDS, NEEDED, Pair, is_texts, require_fields

TRIES = 50
"""Draws for each pair that is wanted, before lists count as too short."""

Count = Annotated[int, Ge(1), Le(100_000)]

Entry = str | Mapping[str, Any]


class Field(NamedTuple):
    """A field of a template.

    Attributes:
        role: that its word plays in the text.
        listed: the name of the list that it is filled from.
        key: of the entry, if entries are tables; else empty.
    """

    role: str
    listed: str
    key: str


@dataclass(frozen=True)
class Template:
    """A template of pairs.

    Attributes:
        clean: with fields `{NAME}`.
        corrupted: the same but for what the answer depends on.
        right: answers, with fields.
        wrong: answers likewise.
        roles: the fields that play a role; by default all of the clean text.
        where: it is from, for errors.
    """

    clean: str
    corrupted: str
    right: str | Sequence[str]
    wrong: str | Sequence[str]
    roles: Sequence[str] | None
    where: str

    @classmethod
    def read(cls, given: Any, where: str) -> "Template":
        """A template of its fields by name.

        Raises:
            HeadwayError: if one is unknown, missing or no text.
        """
        require_fields(given, where, FIELDS, NEEDED)
        for name in ("clean", "corrupted"):
            text = given[name]
            is_text = isinstance(text, str)
            require(is_text, f"{where}: {name}", text, "a text")
        for name in ("right", "wrong"):
            answers = given[name]
            require(is_texts(answers), f"{where}: {name}", answers, "a text or several")
        roles = given.get("roles")
        is_names = roles is None or (is_texts(roles) and not isinstance(roles, str))
        require(
            is_names, f"{where}: roles", roles, "a list of fields of the clean text"
        )
        fields = _roles_in(given["clean"])
        known = ", ".join(fields)
        for role in roles or ():
            require(role in fields, f"{where}: roles", role, f"one of {known}")
        return cls(**{**given, "roles": roles}, where=where)


def filled(
    templates: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    lists: Mapping[str, Any],
    count: int = 64,
    seed: int = 0,
    where: str = "template",
) -> list[Pair]:
    """Pairs from a template, or from several in turn, no two of them alike.

    ```python
    pairs = filled(
        {
            "clean": "When {IO} and {S1} went home, {S2} gave a book to",
            "corrupted": "When {IO} and {S1} went home, {C} gave a book to",
            "right": " {IO}",
            "wrong": " {S}",
        },
        {name: ["Mary", "John", "Anna", "Paul"] for name in ("IO", "S", "C")},
        count=24,
    )
    ```

    Args:
        templates: one or several, each with `clean`, `corrupted`, `right` and `wrong`,
            and maybe `roles`.
        lists: of words, by name.
        count: of pairs.
        seed: of the draws.
        where: the templates are from, for errors.

    Raises:
        HeadwayError: if a field has no list, a list no words, or there are too few for
            so many pairs.
    """
    require_allowed(f"{where}: count", count, Count)
    require_allowed(f"{where}: seed", seed, NotNegative)
    _require_lists(lists, where)
    read = _read(templates, where)
    random = Random(seed)
    pairs = dict[str, Pair]()
    for tried in range(TRIES * count):
        filling = _Filling(read[tried % len(read)], lists, random)
        pair = filling.pair(f"{where}, pair {len(pairs) + 1}")
        pairs.setdefault(pair.clean, pair)
        if len(pairs) == count:
            return list(pairs.values())
    raise HeadwayError(
        f"{where}: count = {count} is not allowed: it must be at most {len(pairs)}, as"
        " the lists do not fill more different texts"
    )


def _read(templates: Any, where: str) -> list[Template]:
    """The templates of their fields; several are numbered."""
    if isinstance(templates, Mapping):
        return [Template.read(templates, where)]
    read = list[Template]()
    for number, written in enumerate(templates, 1):
        template = Template.read(written, f"{where} {number}")
        read.append(template)
    require(bool(read), where, read, "at least one template")
    return read


def _roles_in(clean: str) -> list[str]:
    """The roles that the fields of a text may play."""
    roles = list[str]()
    for part in PART.finditer(clean):
        inside = part["inside"] or ""
        _, _, role = inside.rpartition(".")
        roles.append(role)
    return roles


def _require_lists(lists: Mapping[str, Any], where: str) -> None:
    """Makes sure that lists have names and hold words, or tables of words."""
    for name, words in lists.items():
        field = f"{where}: lists.{name}"
        is_list = isinstance(words, list | tuple) and len(words) > 0
        require(is_list, field, words, "a list of at least one word")
        for word in words:
            is_word = isinstance(word, str | Mapping) and len(word) > 0
            require(is_word, field, word, "a list of words, or of tables of words")


class _Filling:
    """One filling of a template: words are drawn as fields ask for them.

    Args:
        template: that is filled.
        lists: of words, by name.
        random: that words are drawn by.
    """

    def __init__(self, template: Template, lists: Mapping[str, Any], random: Random):
        self.template, self.lists, self.random = template, lists, random
        self.drawn = dict[str, Entry]()

    def pair(self, where: str) -> Pair:
        """The pair that comes of it."""
        template = self.template
        clean = self.text("clean", template.clean, marks=True)
        corrupted = self.text("corrupted", template.corrupted)
        right, wrong = self.answers("right"), self.answers("wrong")
        return Pair(clean, corrupted, right, wrong, where=where)

    def answers(self, name: str) -> tuple[str, ...]:
        """The answers of a kind; a field alone may stand for several."""
        given = getattr(self.template, name)
        texts = [given] if isinstance(given, str) else given
        answers = list[str]()
        for text in texts:
            alone = re.fullmatch(r"\{([^{}:]+)\}", text)
            if alone is None:
                answers.append(_unescaped(self.text(name, text)))
                continue
            word = self.word(name, text, self.field(name, text, alone[1]))
            answers += [word] if isinstance(word, str) else word
        return tuple(answers)

    def text(self, name: str, written: str, marks: bool = False) -> str:
        """A text with its fields filled, as a pair has it.

        Args:
            name: of the text, for errors.
            written: the text.
            marks: whether words are marked with the roles that they play.
        """

        def fill(part: re.Match[str]) -> str:
            if part[0] in ("{{", "}}"):
                return part[0]
            allowed = f"written with fields as {{NAME}}; {LITERAL}"
            inside = part["inside"]
            is_field = bool(inside) and ":" not in inside
            require(is_field, self._where(name), written, allowed)
            field = self.field(name, written, inside)
            word = self.word(name, written, field)
            is_one = isinstance(word, str)
            require(is_one, self._where(name), word, f"one word: {part[0]} has several")
            escaped = str(word).replace("{", "{{").replace("}", "}}")
            roles = self.template.roles
            is_marked = marks and (roles is None or field.role in roles)
            return f"{{{field.role}:{escaped}}}" if is_marked else escaped

        return PART.sub(fill, written)

    def field(self, name: str, written: str, inside: str) -> Field:
        """The field that is written between braces."""
        whole, _, key = inside.partition(".")
        listed = whole if whole in self.lists else whole.rstrip("0123456789")
        if listed not in self.lists:
            hint = nearest(whole, self.lists)
            known = ", ".join(self.lists) or "none"
            what = f"{{{inside}}} has no list: there are {known}{hint}"
            where = self._where(name)
            raise HeadwayError(f"{where} = {shown(written)}: {what}")
        require_role(key or whole, self._where(name))
        return Field(key or whole, listed, key)

    def word(self, name: str, written: str, field: Field) -> str | list[str]:
        """The word that fills a field, or several where only an answer may have
        them.
        """
        entry = self._entry(name, field.listed)
        if isinstance(entry, str):
            is_plain = field.key == ""
            allowed = f"without .{field.key}: {field.listed} is a list of words"
            require(is_plain, self._where(name), written, allowed)
            return entry
        keys = ", .".join(entry)
        allowed = f"written with one of .{keys} behind {field.listed}"
        require(field.key in entry, self._where(name), written, allowed)
        word = entry[field.key]
        allowed = "a text, or several for answers"
        require(is_texts(word), f"{self.template.where}: {field.listed}", word, allowed)
        return word

    def _entry(self, name: str, listed: str) -> Entry:
        """The entry of a list in this filling, other than those of other lists."""
        if listed not in self.drawn:
            taken = [*self.drawn.values()]
            words = self.lists[listed]
            left = [entry for entry in words if entry not in taken]
            others = ", ".join(self.drawn)
            allowed = f"longer: all of its words are taken by {others}"
            field = f"{self.template.where}: lists.{listed}"
            require(bool(left), field, words, allowed)
            self.drawn[listed] = self.random.choice(left)
        return self.drawn[listed]

    def _where(self, name: str) -> str:
        return f"{self.template.where}: {name}"


def _unescaped(text: str) -> str:
    """A text whose doubled braces are single ones."""
    return text.replace("{{", "{").replace("}}", "}")
