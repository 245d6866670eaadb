import json
import subprocess
import sys

import pytest

from headway import cli
from headway.language import questions


def test_prompts_are_lines_of_json(capsys):
    cli.main(["prompts", "lives-with", "--depth", "3", "--n", "5", "--seed", "7"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    asked = list(questions("lives-with", 3, count=5, seed=7))
    assert [line["prompt"] for line in lines] == [question.prompt for question in asked]
    for line, question in zip(lines, asked, strict=True):
        assert line["correct"] == question.correct
        assert line["acceptable"] == list(question.acceptable)
        assert line["depth"] == 3
        query, key = line["relations"]["s0←s1"][0]
        assert line["prompt"][slice(*query)] == line["prompt"][slice(*key)]


def test_a_file_has_the_same_lines(tmp_path, capsys):
    cli.main(["prompts", "kingdoms", "--n", "3"])
    printed = capsys.readouterr().out
    cli.main(["prompts", "kingdoms", "--n", "3", "--out", str(tmp_path / "q.jsonl")])
    assert (tmp_path / "q.jsonl").read_text() == printed


def test_a_reader_that_stops_is_no_error():
    command = [sys.executable, "-m", "headway", "prompts", "relatives", "--n", "2000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing from headway prompts: FORMULATION one of equations, lives-with, "),
        (["riddles"], "formulation = 'riddles' is not allowed: it must be one of equations"),
        (["equations", "--depth", "7"], "depth = 7 is not allowed: it must be from 1 to 6"),
        (["equations", "--chains", "27"], "chains = 27 is not allowed: it must be from 1 to 26"),
        (["functions", "--chains", "1"], "chains = 1 is not allowed: it must be from 2 to 10"),
        (["equations", "--n", "0"], "n = 0 is not allowed"),
        (["equations", "--out", "q.txt"], "q.txt"),
    ],
)
def test_bad_input_is_one_clear_line(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["prompts", *words])
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert len(complaint.strip().splitlines()) == 1
