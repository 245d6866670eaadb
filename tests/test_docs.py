"""README.md and docs/ name what there is: every command, option, field, import and
file.
"""

import ast
import dataclasses
import inspect
import re
import shlex
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

import headway
from headway.errors import HeadwayError
from headway.fields import named, split, values_of
from headway.recipes import base_of, config_asked_for, hints_in, source_and_fields
from headway.terminal.cli import Parser
from headway.verbs.listing import function_of
from headway_experiments import curricula, tasks

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
COMMAND = re.compile(
    r"(?:^|srun |\s)headway (--trust|[a-z]+)( [^\n|]*)?$", re.MULTILINE
)


def blocks(page, *languages):
    """The content of a page's blocks of code in one of some languages."""
    block = rf"^```(?:{'|'.join(languages)})\n(.*?)^```"
    text = page.read_text("utf-8")
    contents = re.findall(block, text, re.MULTILINE | re.DOTALL)
    return [dedent(content) for content in contents]


def shell_commands():
    """The whole commands of all blocks of shell, each as its words."""
    for page in PAGES:
        for block in blocks(page, "sh", "bash"):
            lines = [line.partition(" #")[0].rstrip() for line in block.split("\n")]
            text = "\n".join(lines).replace("\\\n", " ")
            for verb, rest in COMMAND.findall(text):
                yield (verb, *shlex.split(rest))


def named_in_text():
    """The verbs and options of all that stands in code marks and begins with
    `headway`.
    """
    for page in PAGES:
        for text in re.findall(
            r"`headway ([a-z]+(?: [^`]*)?)`", page.read_text("utf-8")
        ):
            verb, *words = text.split()
            options = [word for word in words if re.fullmatch("--[a-z-]+", word)]
            yield (verb, *(option for option in options if option != "--help"))


def parameters(verb):
    function = function_of(verb)
    return function, inspect.signature(function).parameters


def check_fields(verb, asked):
    """Make sure that fields given to a recipe are some of its own, with values that may
    be.
    """
    words = asked.get("words", ())
    if verb in ("train", "demo") and not any(".py" in word for word in words):
        config_asked_for(words)
    source, fields = source_and_fields(words)
    if verb == "sweep" and not re.search(r"\.py|/", source or "fast"):
        hints = hints_in(base_of(source or "fast"))
        for field, text in map(split, fields):
            assert values_of(field, text, hints[named(field, hints)])


def check_command(verb, *words):
    """Make sure that a verb takes words, the variables of the shell as 0. It is not
    called.
    """
    function, _ = parameters(verb)
    words = [word.replace("$SLURM_ARRAY_TASK_ID", "0") for word in words]
    if "--help" in words:
        base_of(source_and_fields(words)[0] or "fast")
        return
    check_fields(verb, Parser(function, verb).asked(words).arguments)


COMMANDS = sorted({shlex.join(words) for words in shell_commands()})
MENTIONS = sorted({" ".join(words) for words in named_in_text()})


@pytest.mark.parametrize(
    "words",
    [
        ("theory", "--deep", "3"),
        ("train", "--seed", "1"),
        ("train", "fast", "n_head=2"),
        ("sweep", "fast", "sead=0..7"),
    ],
)
def test_a_command_that_is_none_is_seen(words):
    with pytest.raises(HeadwayError):
        check_command(*words)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs_is_one_that_there_is(command, capsys):
    verb, *words = shlex.split(command)
    if verb == "--trust":
        verb, *words = words[1:]
    check_command(verb, *words)


@pytest.mark.parametrize("mention", MENTIONS)
def test_a_verb_and_its_options_that_the_text_names_are_some_that_there_are(mention):
    verb, *options = mention.split()
    _, taken = parameters(verb)
    named = {option[2:].replace("-", "_") for option in options}
    assert named <= set(taken)


def test_what_blocks_of_python_import_is_there():
    found = 0
    for page in PAGES:
        for block in blocks(page, "python"):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                    "headway"
                ):
                    room = import_module(str(node.module))
                    found += len([getattr(room, name.name) for name in node.names])
    assert found > 20


def test_the_architecture_names_files_that_there_are_and_every_room():
    src = ROOT / "src/headway"
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_/]+(?:\.py|/))`", text))
    for name in named:
        rooms = [*src.iterdir(), *(ROOT / "src/headway_experiments").iterdir()]
        places = [ROOT / name, src / name, *(room / name for room in rooms)]
        places.append(ROOT / "src/headway_experiments" / name)
        assert any(place.exists() for place in places), name
    rooms = {f"{path.parent.name}/" for path in src.glob("*/__init__.py")}
    modules = {path.name for path in src.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert rooms | modules <= named


def slugs(page):
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)", page.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w -]", "", title) for title in titles]
    return [title.lower().replace(" ", "-") for title in plain]


def test_pages_lead_to_files_and_headings_that_there_are():
    link = re.compile(r"\]\(([^)#:\s]+)(?:#([^)]*))?\)")
    links = [
        (page, page.parent / name, heading)
        for page in PAGES
        for name, heading in link.findall(page.read_text("utf-8"))
    ]
    assert len(links) > 70
    for page, to, heading in links:
        made = to.parent.name == "reference" or to.with_suffix(".ipynb").exists()
        assert made or to.exists(), (page, to)
        assert made or not heading or heading in slugs(to), (page, to, heading)


def test_every_page_can_be_reached_from_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    reached = set[Path]()
    left = {ROOT / "docs" / name for name in re.findall(r"docs/([\w/-]+\.md)", readme)}
    while left:
        page = left.pop()
        reached.add(page)
        names = re.findall(r"\]\((?!reference/)([\w./-]+\.md)", page.read_text("utf-8"))
        left |= {(page.parent / name).resolve() for name in names} - reached
    claims = ROOT.glob("results/claims/*.md")
    assert reached == {*ROOT.glob("docs/**/*.md"), *claims}


PAGE = ROOT / "docs" / "notation.md"
ROOMS = (
    "tasks",
    "replace",
    "judge",
    "find",
    "dynamics",
    "models",
    "relations.paths",
    "training",
)


def names() -> list[str]:
    """The names in code marks in the last column of a table."""
    rows = [
        line.split("|")[-2]
        for line in PAGE.read_text().splitlines()
        if line[:2] == "| "
    ]
    return sorted({name for cell in rows for name in re.findall(r"`([^`]+)`", cell)})


def has(owner, name):
    """Tell whether a package, class or dataclass has an attribute, an annotation or a
    field.
    """
    fields = dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()
    slots = inspect.get_annotations(owner) if inspect.isclass(owner) else {}
    return (
        hasattr(owner, name)
        or name in slots
        or name in {field.name for field in fields}
    )


def found(name: str) -> bool:
    first, *rest = name.split(".")
    rooms = [import_module(f"headway.{room}") for room in ROOMS]
    in_a_room = first.islower() and rest
    owners = (
        [import_module(f"headway.{first}")]
        if in_a_room
        else [headway, tasks, curricula, *rooms]
    )
    for part in rest if in_a_room else [first, *rest]:
        owner = next((one for one in owners if has(one, part)), None)
        if owner is None:
            return False
        owners = [getattr(owner, part, None)]
    return True


def test_names_that_are_none_are_seen():
    assert len(names()) >= 30
    for name in (
        "Retrieval.deep",
        "RetrievalConfig.depth",
        "theory.flow_of",
        "role_names",
    ):
        assert not found(name)


@pytest.mark.parametrize("name", names())
def test_a_name_of_the_tables_is_one_of_the_code(name):
    assert found(name)
