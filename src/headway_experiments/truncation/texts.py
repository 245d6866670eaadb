"""Texts to go on with: an answer that the content asks for, against a generic word.

    Madrid is located in …   Spain | the

`the` is likely after the words before it, whatever they are about (a *global bigram*); ` Spain`
takes a fact. The example is of Chen, Bruna and Bietti (2024, arXiv 2406.03068), as are the facts
told in the text itself, here about places that are made up, or that the text moves:

    Zorblat is a town in Peru. Zorblat is located in …   Peru | the
    Madrid is a town in Peru. Madrid is located in …     Peru | Spain
"""

from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, require
from headway.files import is_file, parsed, read_bytes


@dataclass(frozen=True)
class Completion:
    """A text, and two ways to go on.

    Attributes:
        kind: of text; means are taken over texts of one kind.
        prompt: the text.
        answer: what the content asks for. A space stands between the prompt and it, unless one of
            them brings white space of its own.
        generic: what it is compared with, likewise.
    """

    kind: str
    prompt: str
    answer: str
    generic: str

    def after(self, told: str) -> str:
        """The prompt, gone on with."""
        apart = self.prompt[-1:].isspace() or told[:1].isspace()
        return self.prompt + ("" if apart else " ") + told


_PLACES = (
    "Madrid/Spain Paris/France Berlin/Germany Rome/Italy Tokyo/Japan Beijing/China "
    "Cairo/Egypt Moscow/Russia Athens/Greece Warsaw/Poland Lisbon/Portugal Stockholm/Sweden "
    "Oslo/Norway Copenhagen/Denmark Vienna/Austria Budapest/Hungary Istanbul/Turkey "
    "Tehran/Iran Baghdad/Iraq Nairobi/Kenya Havana/Cuba Lima/Peru Santiago/Chile "
    "Toronto/Canada Sydney/Australia Mumbai/India Bangkok/Thailand Hanoi/Vietnam "
    "Dublin/Ireland Helsinki/Finland"
)
PLACES = {one.partition("/")[0]: one.partition("/")[2] for one in _PLACES.split()}
"""Cities, and the countries that they are in."""

CAPITALS = {
    country: city
    for city, country in PLACES.items()
    if city not in ("Istanbul", "Toronto", "Sydney", "Mumbai")
} | {"Indonesia": "Jakarta", "Colombia": "Bogota", "Belgium": "Brussels", "Ukraine": "Kiev"}

MADE_UP = (
    "Zorblat Quenlow Harvick Belloran Tramso Ostrelle Vindamar Kelpora Drunholt Maridel "
    "Ferrowin Losgard Tavinel Ulmora Pranstead Wexholm Calindra Bromvale Sethwick Nardolin "
    "Gelmaro Yarrowby Corves Talbrook Illowen Rostovan Hulverton Mendrake Ashquill Pelloway"
)
"""Towns that do not exist."""

NAMES = (
    "Mary/John Alice/Tom Sarah/James Anna/David Laura/Peter Emma/Jack Kate/Paul Lucy/Mark "
    "Jane/Robert Susan/Michael Linda/George Julia/Henry Rachel/Steve Helen/Frank Amy/Daniel "
    "Karen/Brian Lisa/Kevin Nancy/Eric Maria/Thomas Alice/Simon Diana/Charles Jessica/Adam "
    "Rose/William Sophie/Ben"
)
"""Who receives, and who gives."""

THINGS = (
    *(("store", "a drink"), ("park", "a ball"), ("school", "a book"), ("station", "a ticket")),
    *(("market", "an apple"), ("library", "a letter")),
)


def _told(town: str, country: str) -> str:
    return (
        f"{town} is a town in {country}. The streets of {town} are quiet in the morning."
        f" {town} is located in"
    )


def _given(number: int, names: str) -> Completion:
    """Who is given something must be the one of two who does not give."""
    receives, gives = names.split("/")
    place, thing = THINGS[number % len(THINGS)]
    pair = (receives, gives) if number % 2 == 0 else (gives, receives)
    text = f"When {pair[0]} and {pair[1]} went to the {place}, {gives} gave {thing} to"
    return Completion("names", text, receives, "the")


COUNTRIES = [*PLACES.values()]
ELSEWHERE = dict(zip(PLACES, COUNTRIES[11:] + COUNTRIES[:11], strict=True))

MADE = {
    "places": [Completion("places", f"{a} is located in", b, "the") for a, b in PLACES.items()],
    "capitals": [
        Completion("capitals", f"The capital of {country} is", city, "the")
        for country, city in CAPITALS.items()
    ],
    "fictional": [
        Completion("fictional", _told(town, country), country, "the")
        for town, country in zip(MADE_UP.split(), COUNTRIES, strict=True)
    ],
    "moved": [
        Completion("moved", _told(city, country), country, PLACES[city])
        for city, country in ELSEWHERE.items()
    ],
    "names": [_given(i, pair) for i, pair in enumerate(NAMES.split())],
}
"""`fictional`: towns that are made up, in countries that the text tells; `moved`: cities that the
text puts elsewhere, against where they are."""


def completions(asked: tuple[str, ...]) -> list[Completion]:
    """The texts of kinds by name, `all` of them, or those of a file of one's own.

    Args:
        asked: kinds (`places`, `capitals`, `fictional`, `moved`, `names`), `all`, or JSONL
            files: an object per line with prompt, answer, generic and perhaps kind.

    Raises:
        HeadwayError: if there is no such kind or file, or something is wrong with a line of it.
    """
    allowed = f"some of {', '.join(MADE)}, all, or a JSONL file"
    require(len(asked) > 0, "prompts", "", allowed)
    found: list[Completion] = []
    for name in dict.fromkeys(asked):
        if name == "all":
            found += [text for texts in MADE.values() for text in texts]
        elif name in MADE:
            found += MADE[name]
        else:
            require(is_file(name), "prompts", name, allowed)
            found += read_completions(Path(name))
    return list(dict.fromkeys(found))


def read_completions(path: Path) -> list[Completion]:
    """The texts of a JSONL file; blank lines are left out. Without a kind, a text is of the file's.

    Raises:
        HeadwayError: if it cannot be read, has no text in it, or a line is not as it should be.
    """
    try:
        lines = read_bytes(path).decode().split("\n")
    except UnicodeDecodeError as error:
        raise HeadwayError(f"{path} is not UTF-8 at byte {error.start}") from None
    numbered = [(i, line) for i, line in enumerate(lines, start=1) if line.strip()]
    require(len(numbered) > 0, "prompts", str(path), "a file with at least one line")
    return [_completion(line, f"{path}, line {i}", path.stem) for i, line in numbered]


def _completion(line: str, where: str, kind: str) -> Completion:
    data = parsed(line.encode(), where)
    require(isinstance(data, dict), where, data, "an object with prompt, answer and generic")
    fields = {"kind": kind, **data}
    for name in ("kind", "prompt", "answer", "generic"):
        if name not in fields:
            raise HeadwayError(f"{where}: {name} is missing")
        value = fields[name]
        fits = isinstance(value, str) and bool(value.strip())
        require(fits, f"{where}: {name}", value, "text that is not empty")
    found = Completion(*(fields[name] for name in ("kind", "prompt", "answer", "generic")))
    apart = found.after(found.answer) != found.after(found.generic)
    require(apart, f"{where}: generic", found.generic, "another text than the answer")
    return found
