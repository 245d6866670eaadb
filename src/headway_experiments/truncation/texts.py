"""Texts to go on with: an answer that the content asks for, against a generic word.

    Madrid is located in …   Spain | the

`the` is likely after the words before it, whatever they are about (a *global bigram*);
` Spain` takes a fact. The example is of Chen, Bruna and Bietti (2024, arXiv
2406.03068), as are the facts told in the text itself, here about places that are made
up, or that the text moves:

    Zorblat is a town in Peru. Zorblat is located in …   Peru | the
    Madrid is a town in Peru. Madrid is located in …     Peru | Spain
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from headway.errors import require
from headway.fields import found_in
from headway.reading import is_file, parsed, read_bytes

KINDS = ("places", "capitals", "fictional", "moved", "names")
"""The kinds of texts in `completions.jsonl`. `fictional`: towns that are made up, in
countries that the text tells; `moved`: cities that the text puts elsewhere, against
where they are."""


@dataclass(frozen=True)
class Completion:
    """A text, and two ways to go on.

    Attributes:
        kind: of text; means are taken over texts of one kind.
        prompt: the text.
        answer: what the content asks for. A space stands between the prompt and it,
            unless one of them brings white space of its own.
        generic: what it is compared with, likewise.
    """

    kind: str
    prompt: str
    answer: str
    generic: str

    def after(self, told: str) -> str:
        """The prompt, gone on with."""
        if self.prompt[-1:].isspace() or told[:1].isspace():
            return self.prompt + told
        return f"{self.prompt} {told}"


def completions(asked: tuple[str, ...]) -> list[Completion]:
    """The texts of kinds by name, `all` of them, or those of a file of one's own.

    Args:
        asked: kinds (`places`, `capitals`, `fictional`, `moved`, `names`), `all`, or
            JSONL files: an object per line with prompt, answer, generic and perhaps
            kind.

    Raises:
        HeadwayError: if there is no such kind or file, or something is wrong with a
            line of it.
    """
    allowed = f"some of {', '.join(KINDS)}, all, or a JSONL file"
    require(len(asked) > 0, "prompts", "", allowed)
    ours = read_completions(Path(__file__).with_name("completions.jsonl"))
    texts: list[Completion] = []
    for name in asked:
        if name in (*KINDS, "all"):
            texts += [text for text in ours if name in (text.kind, "all")]
        else:
            require(is_file(name), "prompts", name, allowed)
            texts += read_completions(Path(name))
    return list(dict.fromkeys(texts))


def read_completions(path: Path) -> list[Completion]:
    """The texts of a JSONL file; blank lines are left out. Without a kind, a text is of
    the file's.

    Raises:
        HeadwayError: if it cannot be read, has no text in it, or a line is not as it
            should be.
    """
    lines = read_bytes(path).split(b"\n")
    numbered = [(i, line) for i, line in enumerate(lines, start=1) if line.strip()]
    require(len(numbered) > 0, "prompts", str(path), "a file with at least one line")
    completions = []
    for i, line in numbered:
        where = f"{path}, line {i}"
        data = parsed(line, where)
        require(
            isinstance(data, dict),
            where,
            data,
            "an object with prompt, answer and generic",
        )
        completion = found_in(Completion, {"kind": path.stem, **data}, where)
        _require_filled(completion, where)
        completions.append(completion)
    return completions


def _require_filled(completion: Completion, where: str) -> None:
    for name, text in asdict(completion).items():
        is_filled = bool(text.strip())
        require(is_filled, f"{where}: {name}", text, "text that is not empty")
