"""The same questions in lm-evaluation-harness and reasoning-gym, both really run."""

import pytest

NEEDS = "needs the extra `harness`: make test-harness"


@pytest.mark.filterwarnings("ignore")
def test_lm_eval_measures_what_argmax_is(tmp_path, monkeypatch):
    """Document by document, on a tiny random model."""
    pytest.importorskip("lm_eval", reason=NEEDS)
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager
    from tiny_model import save_tiny_model

    from headway.language import FORMULATIONS, questions
    from headway.language.adapters.lm_eval import FOLDER
    from headway.language.local import LocalModel, best

    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = str(save_tiny_model(tmp_path / "tiny"))
    chosen = {"d": [1, 2], "n": 3, "seed": 4}
    tasks = TaskManager(include_path=str(FOLDER), include_defaults=False, metadata=chosen)
    names = {name: f"headway_{name.replace('-', '_')}" for name in FORMULATIONS}
    found = simple_evaluate(
        model="hf",
        model_args={"pretrained": folder, "device": "cpu", "dtype": "float32"},
        tasks=list(names.values()),
        task_manager=tasks,
        metadata=chosen,
        bootstrap_iters=0,
    )
    model = LocalModel(folder, "completion")
    for name, task in names.items():
        asked = [q for d in (1, 2) for q in questions(name, d, count=3, seed=4)]
        documents = sorted(found["samples"][task], key=lambda document: document["doc_id"])
        assert [document["doc"]["prompt"] for document in documents] == [q.prompt for q in asked]
        right = [best(model.answers(question), question) == question.correct for question in asked]
        assert [bool(document["acc"]) for document in documents] == right
        assert found["results"][task]["acc,none"] == pytest.approx(sum(right) / 6)


def test_reasoning_gym_gives_no_partial_credit():
    reasoning_gym = pytest.importorskip("reasoning_gym", reason=NEEDS)
    from headway.language import questions
    from headway.language.adapters import reasoning_gym as adapter

    data = reasoning_gym.create_dataset(adapter.NAME, formulation="lives-with", seed=3, size=5)
    asked = list(questions("lives-with", count=5, seed=3))
    assert [entry["question"] for entry in data] == [question.prompt for question in asked]
    for entry, question in zip(data, asked, strict=True):
        right = question.correct
        wrong = next(text for text in question.acceptable if text != right)
        assert [data.score_answer(text, entry) for text in (right, f" {right}.\n")] == [1, 1]
        for text in (wrong, f"{right} {wrong}", f"It is {right}", right.lower(), "", None):
            assert data.score_answer(text, entry) == 0


def test_reasoning_gym_says_what_is_wrong_with_a_config():
    reasoning_gym = pytest.importorskip("reasoning_gym", reason=NEEDS)
    from headway.errors import HeadwayError
    from headway.language.adapters import reasoning_gym as adapter

    with pytest.raises(HeadwayError, match=r"^depth = 9 is not allowed: it must be from 1 to 6"):
        reasoning_gym.create_dataset(adapter.NAME, depth=9)
    with pytest.raises(HeadwayError, match=r"^formulation = 'riddles' is not allowed"):
        reasoning_gym.create_dataset(adapter.NAME, formulation="riddles")
