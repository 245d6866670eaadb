import json

import pytest

from headway import cli
from headway.language import questions


def test_questions_are_lines_of_json(tmp_path, capsys):
    file = tmp_path / "q.jsonl"
    words = ["--depth", "3", "--n", "5", "--seed", "7", "--questions", str(file)]
    cli.main(["ask", "--formulation", "lives-with", *words])
    assert capsys.readouterr().out == f"5 questions written to {file}\n"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    asked = list(questions("lives-with", 3, count=5, seed=7))
    assert [line["prompt"] for line in lines] == [question.prompt for question in asked]
    for line, question in zip(lines, asked, strict=True):
        assert line["correct"] == question.correct
        assert line["acceptable"] == list(question.acceptable)
        assert line["depth"] == 3
        query, key = line["relations"]["s0←s1"][0]
        assert line["prompt"][slice(*query)] == line["prompt"][slice(*key)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["riddles"], "formulation = 'riddles' is not allowed: it must be one of equations"),
        (["equations", "--depth", "7"], "depth = 7 is not allowed: it must be from 1 to 6"),
        (["equations", "--chains", "27"], "chains = 27 is not allowed: it must be from 1 to 26"),
        (["functions", "--chains", "1"], "chains = 1 is not allowed: it must be from 2 to 10"),
        (["equations", "--n", "0"], "n = 0 is not allowed"),
    ],
)
def test_bad_input_is_one_clear_line(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["ask", "--questions", "q.jsonl", "--formulation", *words])
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert len(complaint.strip().splitlines()) == 1
