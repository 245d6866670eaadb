"""The command line as a user meets it: verbs, and one clear line for bad input."""

import compileall
import inspect
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from commands import headway, python, refused, refusing
from headway import emergence, tapped
from headway.errors import note_once
from headway.recipes import annotations, changed, config_asked_for
from headway.tasks import Retrieval
from headway.terminal import cli
from headway.terminal.cli import Parser
from headway.training import fast
from headway.training.recipes import RECIPES
from headway.verbs import listing
from headway.verbs.training import train
from headway_experiments.recipes import composition

TASK = Path(__file__).parent / "outside" / "assignments.py"


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ([], fast()),
        (["depth=2"], fast(2)),
        (["fast", "depth=4", "n_heads=2"], changed(fast(4), {"model.n_heads": 2})),
        (["seed=4", "composition", "asked=1,2"], composition((1, 2), seed=4)),
    ],
)
def test_words_ask_for_a_config(words, config):
    assert config_asked_for(words) == config


def test_options_may_stand_among_words():
    options = ["--folder", "a=b", "--changed-task", "--resume=c"]
    words = ["fast", "depth=4", "seed=3"]
    mixed = ["fast", *options[:2], "depth=4", options[2], "seed=3", options[3]]
    asked = Parser(train, "train").asked(mixed)
    assert asked.args == (tuple(words), Path("a=b"), Path("c"), True)


@pytest.mark.parametrize(
    "verb", ["reproduce", "claims"]
)  # in one, the option may be left out
def test_the_choices_of_an_option_are_told(verb):
    said = refused(verb, "--scale", "bogus")
    allowed = (
        "scale = 'bogus' is not allowed: it must be one of smoke, small, fresh, paper"
    )
    assert said == f"headway: {allowed}\n"


def test_what_follows_a_change_is_told_beside_the_results(capsys):
    note_once.cache_clear()
    config_asked_for(["training.steps=400"])
    told, noted = capsys.readouterr()
    assert told == ""
    assert (
        noted
        == "headway: training.cooldown_steps is shortened, to fit into training.steps\n"
    )


EVERY = (*listing.VERBS, *listing.added_verbs())
"""Headway's own verbs, and those of its experiments."""


def test_help_lists_the_verbs(tmp_path):
    shown = headway(cwd=tmp_path)
    assert shown.returncode == 0
    for verb in listing.VERBS:
        assert f"\n  {verb}" in shown.stdout
    for verb in listing.added_verbs():
        assert re.search(
            rf" {verb}\b", shown.stdout.partition("Verbs that packages add")[2]
        )
    for recipe in RECIPES:
        assert re.search(rf"\b{recipe}[,;)]", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert not re.search(r"[a-z]  +[a-z]", shown.stdout.split("Verbs")[0])


def test_help_needs_no_source_files(tmp_path):
    place = shutil.copytree(Path(cli.__file__).parents[1], tmp_path / "headway")
    compileall.compile_dir(place, quiet=1, legacy=True)
    for source in place.rglob("*.py"):
        source.unlink()
    shown = headway(cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert shown.stdout == f"{listing.usage()}\n"
    assert shown.stderr == ""


def test_nothing_waits_for_torch_that_does_not_need_it():
    code = (
        "import contextlib, io, sys, headway\n"
        "from headway.terminal import cli\n"
        "from headway.verbs import listing\n"
        "def main(*words):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), "
        "contextlib.suppress(SystemExit):\n"
        "        cli.main(list(words))\n"
        "main('--help'); main('--version'); main()\n"
        "with contextlib.redirect_stderr(io.StringIO()): main('dance')\n"
        "print([name for name in ('torch', 'pydantic', 'rich') if name in "
        "sys.modules])\n"
        "for verb in (*listing.VERBS, *listing.added_verbs()): main(verb, '--help')\n"
        "print([name for name in ('torch', 'matplotlib') if name in sys.modules])\n"
    )
    assert python(code) == "[]\n[]\n"


@pytest.mark.parametrize("verb", EVERY)
def test_every_verb_has_help(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    cli.main([verb, "--help"])
    said = capsys.readouterr().out
    assert said.startswith("usage: headway " + verb)
    function = listing.function_of(verb)
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is not one.POSITIONAL_ONLY:
            assert f"\n  --{name.replace('_', '-')}" in said
        assert cli.uses(function)[name], name
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "sweep --workers",
            "argument --workers: expected one argument (see headway sweep",
        ),
        ("trian", "(did you mean train?)"),
        ("dance", "verb = 'dance' is not allowed: it must be one of demo, train,"),
        ("check slow", "cannot read slow: No such file"),
        ("train slow", "recipe = 'slow' is not allowed: it must be one of fast,"),
        (
            "train task.dept=3",
            "task.dept is not a field: did you mean depth or task.depth",
        ),
        (
            "train fast task=3",
            "task is not a field: it is a section, of task.depth, task.n_chains",
        ),
        ("train task.depth=0", "task.depth = 0 is not allowed: it must be a whole"),
        ("train model.d_head=0", "model.d_head = 0 is not allowed"),
        (
            "train task.order=up",
            "task.order = 'up' is not allowed: it must be one of deep-f",
        ),
        (
            "train learning_rate=-1",
            "training.learning_rate = -1 is not allowed: it must be",
        ),
        ("train device=tpu", "device = 'tpu' is not allowed: it must be cpu, cuda"),
        (
            "train --model.n-heads 2",
            "a field is written without dashes, model.n_heads=",
        ),
        (
            "train --seed 3",
            "--seed is no option: a field is written without dashes, seed=",
        ),
        (
            "train fast depth 4",
            "recipe = 'fast and depth and 4' is not allowed: it must be one",
        ),
        ("train no.py", "no.py: No such file or directory"),
        ("train fast --folder --changed-task", "--folder: expected one argument"),
        ("train fast --resume nowhere", "--resume continues a run as it was begun"),
        ("check", "Missing from headway check: FILE"),
        ("check no.py", "no.py: No such file or directory"),
        (f"check {TASK} dept=1", "dept is not a field: did you mean task.depth?"),
        (
            f"check {TASK} depth=x",
            "depth = 'x' is not allowed: it must be a whole number",
        ),
        ("train --resume nowhere", "nowhere: there is no run folder here"),
        (
            "train --changed-task=true",
            "argument --changed-task: ignored explicit argument",
        ),
        ("emergence a b", "'b' belongs to no option (see headway emergence --help)"),
        ("ask smollm2", "'smollm2' belongs to no option (see headway ask --help)"),
        ("theory --depht 3", "--depht is no option (did you mean --depth?) (see headw"),
        ("circuit", "the following arguments are required: RUN …"),
        ("circuit nowhere --threshold -1", "threshold = -1 is not allowed: it must"),
        ("arena --planted -1", "planted = -1 is not allowed"),
        ("claims --file .md", "file = '.md' is not allowed: it must"),
        ("claims --file no/a.md", "'no/a.md' is not allowed: it must"),
        ("claims --file /proc/a.md", "cannot write /proc/a.md: "),
        (f"claims --file {'a' * 300}.md", "aaa.md: File name too long"),
        ("report nowhere", "nowhere: there is no run folder here"),
        ("runs nowhere", "nowhere: there is no such folder"),
        ("serve", "runs: there is no such folder"),
        ("runs . --where bogus=1", "bogus is not a field: there are task.*"),
        ("runs . --table a.txt", "file = 'a.txt' is not allowed: it must be one that"),
        ("sweep seed=1 seed=2", "seed is named twice"),
        ("sweep --workers 0", "workers = 0 is not allowed: it must be a whole number"),
        ("sweep --engine slurm", "engine = 'slurm' is not allowed: it must be one of"),
        (
            "demo --depth 0",
            "--depth is no option: a field is written without dashes, d",
        ),
        (
            "ask --questions q.txt",
            "q.txt' is not allowed: it must be one that ends in .js",
        ),
        ("ask --questions q.jsonl --model a", "--model does not go with --questions"),
        ("arena --depth 0", "depth = 0 is not allowed: it must be from 1 to 16"),
        (
            "arena --families tracer",
            "family = 'tracer' is not allowed: it must be one of",
        ),
        (
            "arena --methods eap",
            "method = 'eap' is not allowed: it must be one of headw",
        ),
        ("arena --workers 0", "workers = 0 is not allowed: it must be a whole number"),
        ("train fast deep=1", "deep is not a field: did you mean depth"),
        (
            "train fast order=deep-first",
            "did you mean task.order or training.curriculum.order?",
        ),
        (
            "train fast depth=0",
            "depth = 0 is not allowed: it must be a whole number of at l",
        ),
        ("train fast seed=1 seed=1", "seed is named twice"),
        ("train fast n_heads=1 model.n_heads=1", "model.n_heads is named twice"),
        (
            "train fast n_heads=3",
            "model.n_heads = 3 is not allowed: it must be a divisor",
        ),
        (
            "train fast training.curriculum=up",
            "training.curriculum = 'up' is not allowed: it must",
        ),
        ("train fast every=50", "not a field of Deepening, whose fields are learnt"),
        (
            "train fast curriculum=mixture deepening=false task.order=shallow-first",
            "(task.n_depths = 1)",
        ),
        ("train fast optimizer=sgd", "it must be 0 with training.optimizer = sgd"),
        ("sweep fats", "recipe = 'fats' is not allowed: it must be one of fast, "),
        ("sweep no/such.py", "no/such.py: No such file or directory"),
        ("sweep fast seed=1,1", "two configs are called seed=1"),
        (
            "sweep fast every=1,2",
            "cell every=1: training.curriculum.every is not a field of Deepening",
        ),
        (
            "sweep fast n_heads=1..4",
            "cell n_heads=3: model.n_heads = 3 is not allowed: it must be",
        ),
        (
            "sweep fast seed=0..9999 model.n_layers=1..11",
            "110000 is not allowed: it must be at",
        ),
        (
            "theory --depth 0",
            "depth = 0 is not allowed: it must be a whole number of at least 1",
        ),
        (
            "theory --depth 8..3",
            "depth = '8..3' is not allowed: it must be a range from low to high",
        ),
        (
            "theory --order random",
            "order = 'random' is not allowed: it must be one of deep-first",
        ),
        ("theory --depth 2 --order 1,3", "order = [1, 3] is not allowed"),
        ("theory --depth 1..3 --order 1,2", "order = '1,2' is not allowed"),
        ("theory --facts", "argument --facts: expected at least one argument"),
        (
            "theory --facts ab",
            "goal = 'z' is not allowed: it must be a symbol of one of ab",
        ),
        ("theory nowhere", "nowhere: there is no run folder here"),
        ("theory nowhere --mask none", "--mask does not go with a run"),
        ("theory --facts ab --depth 5", "--depth does not go with --facts"),
        ("theory --facts xyz --goal xy", "goal = 'xy' is not allowed"),
        ("theory --depth 1..4 --goal b", "--goal does not go with several depths"),
        ("reproduce", "Missing from headway reproduce: NAME, one of fig2"),
        ("reproduce fig9", "name = 'fig9' is not allowed: it must be one of fig2"),
        ("reproduce fig4 --scale huge", "huge"),
        (
            "ask --formulation riddles",
            "it must be one of equations, lives-with, kingdoms, func",
        ),
        ("ask --formulation equations --depth 7", "depth = 7 is not allowed"),
        (
            "ask --chains 0",
            "chains = 0 is not allowed: it must be from 1 to 26 for equations",
        ),
        ("ask --n 0", "n = 0 is not allowed"),
        ("ask --threads 0", "threads = 0 is not allowed"),
        ("ask --depth deep", "depth = 'deep' is not allowed"),
        (
            "truncate --model smollm2 --rank 0,2",
            "rank = 2.0 is not allowed: it must be a fract",
        ),
        ("truncate --model smollm2 --rank half", "rank = 'half' is not allowed"),
        (
            "truncate --model smollm2 --weights mpl",
            "weights = 'mpl' is not allowed: it must",
        ),
        ("truncate --model smollm2 --layers last", "layers = 'last' is not allowed"),
        (
            "truncate --model smollm2 --prompts riddles",
            "prompts = 'riddles' is not allowed",
        ),
        ("truncate --model smollm2 --threads 0", "threads = 0 is not allowed"),
        ("truncate --model smollm2 --device tpu", "device = 'tpu' is not allowed"),
        ("truncate --model nothing", "model = 'nothing' is not allowed"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path, line, complaint, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    complained = refused(*shlex.split(line))
    assert capsys.readouterr().out == ""
    assert complained.startswith("headway: ")
    assert complaint in complained
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").mkdir()
    told = refused("claims", "--file", "a.md")
    assert "is not allowed: it must be a file, not a folder\n" in told


def test_what_python_is_given_is_looked_at_without_a_type_checker_too():
    with refusing("module = 3 is not allowed: it must be a torch.nn.Module"):
        inspect.unwrap(tapped)(3)
    with refusing("circuit = 3 is not allowed: it must be a Circuit, what discover"):
        inspect.unwrap(emergence)({0: None}, 3, Retrieval())


def test_the_fields_of_a_recipe_are_listed(capsys, monkeypatch):
    cli.main(["train", "fast", "--help"])
    told = capsys.readouterr().out
    for name in annotations(fast()):
        assert f"\n  {name}" in told
    assert "\n  training.cooldown_steps=1400  (a whole number of at least 0)\n" in told
    assert (
        "\n  deepening  (true or false)\n      whether a model in the fewest layers"
        in told
    )
    for columns in (80, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        cli.main(["train", "fast", "--help"])
        assert max(map(len, capsys.readouterr().out.splitlines())) <= columns
