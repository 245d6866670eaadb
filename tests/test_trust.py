"""Files that folders name are executed only if the user trusts them; one's own need no
word.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from commands import refused
from headway import userfile
from headway.errors import HeadwayError
from headway.terminal import cli
from headway.training import Run
from in_process import forget_files

TASK = Path(__file__).parent / "outside" / "assignments.py"
SMALL = (
    "depth=1",
    "d_model=8",
    "training.steps=4",
    "training.cooldown_steps=0",
    "eval_every=2",
)


RECORD = """
import sys
import torch
import headway
from made import Own
sys.path.insert(0, {tests!r})
from nano import GPT

def make():
    print("make called")
    return GPT(width=16)

def other():
    open("executed", "w").close()

if __name__ == "__main__":
    with headway.Recorder("run", make(), Own(), build=make) as recorder:
        recorder.save(0, 1.0)
    headway.Run.open("run").model()
"""
OWN = """
from dataclasses import dataclass
import headway

@dataclass(frozen=True)
class Own(headway.tasks.Hops):
    "Hops of mine."
    asked: tuple[int, ...] = (1,)
    n_symbols: int = 8
    n_places: int = 32
"""


@pytest.fixture(autouse=True)
def _own_list(tmp_path, monkeypatch, kinds):
    """A list of trusted files, and a process that was told of none."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    forget_files()
    yield
    forget_files()


def test_what_a_script_records_is_found_by_others_and_no_other_function_is_called(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("made.py").write_text(OWN)
    Path("record.py").write_text(RECORD.format(tests=str(TASK.parents[1])))
    done = subprocess.run([sys.executable, "record.py"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0
    # To record it, to try it, and to build it again.
    assert done.stdout.count("make called") == 3
    headway.discover("run", threshold=10.0, sequences=8, trials=False)
    config = json.loads(Path("run/config.json").read_text())
    assert config["model"]["builder"] == "make"
    config["model"]["builder"] = "other"
    Path("run/config.json").write_text(json.dumps(config))
    told = refused("circuit", "run")
    assert f"headway --trust {tmp_path}/record.py:other VERB …" in told
    refused("--trust", "record.py", "circuit", "run")
    assert not Path("executed").exists()
    told = refused("--trust", "record.py:other", "circuit", "run")
    assert "build = None is not allowed: it must be a function that builds" in told
    assert Path("executed").exists()


def test_a_word_of_trust_is_for_one_command_and_the_content_of_the_time(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(TASK.read_text().replace("Assignments", "Mine"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    cli.main(["train", "mine.py", *SMALL, "--folder", "one"])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for words in (
        ["emergence", "one"],
        ["sweep", "one/clamped"],
        ["train", "--resume", "one"],
    ):
        forget_files()
        cli.main(["--trust", "mine.py", "train", "--resume", "one"])
        assert userfile.listed() == set()
        forget_files()
        told = refused(*words) if words[0] != "sweep" else ""
        assert (
            words[0] == "sweep" or f"headway --trust {tmp_path}/mine.py VERB …" in told
        )
    userfile.trust("mine.py")
    Path("mine.py").write_text(Path("mine.py").read_text() + "\n")
    with pytest.raises(HeadwayError, match="as it is now, it is not on your list"):
        Run.open("one")


def test_a_link_or_another_place_of_a_trusted_file_is_not_it(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(TASK.read_text().replace("Assignments", "Mine"))
    userfile.trust(file)
    other = tmp_path / "yours.py"
    other.symlink_to(file)
    (tmp_path / "copy.py").write_bytes(file.read_bytes())
    for path in (other, tmp_path / "copy.py", f"{tmp_path}/./mine.py", f"/{file}"):
        with pytest.raises(HeadwayError, match=r"is not (executed|allowed)"):
            userfile.load_named("task.defined.file", str(path))
    assert userfile.load_named("task.defined.file", str(file)).Mine


def test_what_is_executed_is_what_was_read(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    read = userfile.read_bytes

    def exchanged(path):
        content = read(path)
        file.write_text("SIZE = 2\n")
        return content

    file.write_text("SIZE = 1\n")
    userfile.trust(file)
    monkeypatch.setattr(userfile, "read_bytes", exchanged)
    assert userfile.load_named("task.defined.file", str(file)).SIZE == 1
    with pytest.raises(HeadwayError, match="as it is now, it is not on your list"):
        userfile.load_named("task.defined.file", str(file))


def test_a_line_that_was_cut_off_trusts_nothing_and_spoils_no_other(tmp_path):
    place = userfile.list_place()
    assert place == tmp_path / "data" / "headway" / "trusted.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"sha256:0 /x.py\nsha256:1 /y\xff")
    before = {"sha256:0 /x.py", "sha256:1 /y\ufffd"}
    assert userfile.listed() == before
    userfile.keep("sha256:2 /a file.py")
    userfile.keep("sha256:2 /z\nsha256:3 /other.py")
    assert userfile.listed() == {*before, "sha256:2 /a file.py"}


def test_a_home_that_cannot_be_written_is_told_once_and_fails_nothing(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "data").write_text("no folder")
    file = tmp_path / "mine.py"
    file.write_text(TASK.read_text().replace("Assignments", "Mine"))
    cli.main(["train", str(file), *SMALL, "--folder", str(tmp_path / "one")])
    assert capsys.readouterr().err.startswith(
        "headway: cannot note which files you trust: "
    )
    assert Run.open(tmp_path / "one").status == "done"


@pytest.mark.parametrize("home", ["", ".", "relative"])
def test_a_list_lies_in_no_folder_that_one_happens_to_be_in(
    tmp_path, monkeypatch, home
):
    monkeypatch.setenv("XDG_DATA_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (
        userfile.list_place()
        == tmp_path / ".local" / "share" / "headway" / "trusted.txt"
    )
    monkeypatch.setenv("HOME", home or "x")
    assert userfile.list_place().is_absolute()
    assert userfile.listed() == set()


def test_many_processes_write_one_list():
    code = (
        "import sys; from headway.userfile import keep; keep('sha256:0 ' + sys.argv[1])"
    )
    files = [f"/{n}.py" for n in range(6)]
    writing = [subprocess.Popen([sys.executable, "-c", code, file]) for file in files]
    assert [one.wait() for one in writing] == [0] * 6
    assert userfile.listed() == {f"sha256:0 {file}" for file in files}


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "fast", *SMALL, "--workers", "1", "--folder", "{0}/sweep"),
        (
            "arena",
            "--families",
            "planted",
            "--methods",
            "attention",
            "--first",
            "2",
            "--workers",
            "2",
            "--out",
            "{0}/arena",
        ),
    ],
)
def test_what_lies_where_a_command_is_started_is_not_imported(words, tmp_path):
    (there := tmp_path / "there").mkdir()
    for name in (
        "multiprocessing",
        "torch",
        "headway",
        "json",
        "sitecustomize",
        "numpy",
    ):
        text = f"open({str(tmp_path / 'mark')!r}, 'a').write('{name}')"
        (there / f"{name}.py").write_text(text)
    program = Path(sys.executable).parent / "headway"
    command = [program, *(word.format(tmp_path) for word in words)]
    subprocess.run(
        command, cwd=there, capture_output=True, text=True, timeout=300, check=True
    )
    assert not (tmp_path / "mark").exists()
