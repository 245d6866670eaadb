"""An evaluation that is killed goes on where it was."""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `llm`")

from endpoint import serving
from inspect_ai import eval_retry
from inspect_ai.log import read_eval_log
from inspecting import QUIET, asked, metrics

pytestmark = QUIET

MODEL = "openai-api/test/model"


def test_a_killed_evaluation_goes_on_without_asking_again(tmp_path, monkeypatch):
    """A real SIGKILL, while six questions are answered and the others wait."""
    known = asked("equations", (1, 2), n=6)
    waiting, free = set(list(known)[6:]), False

    def behave(prompt, before):
        while prompt in waiting and not free:
            time.sleep(0.05)
        return 200, known[prompt].correct

    with serving(behave) as endpoint:
        for name, value in endpoint.environment().items():
            monkeypatch.setenv(name, value)
        command = [sys.executable, "-m", "inspect_ai"]
        about = ["--log-dir", str(tmp_path / "logs"), "--display", "none"]
        parameters = ["-T", "d=1,2", "-T", "n=6", "--max-connections", "3", "--log-buffer", "1"]
        start = [*command, "eval", "headway/equations", *parameters, "--model", MODEL, *about]
        with subprocess.Popen(start, cwd=tmp_path) as process:
            until(lambda: len(finished(tmp_path / "logs")) == 6 and len(endpoint.bodies) == 9)
            process.send_signal(signal.SIGKILL)
        (log,) = (tmp_path / "logs").glob("*.eval")
        assert read_eval_log(str(log)).status == "started"
        before, free = dict(endpoint.asked), True
        (ended,) = eval_retry(str(log), log_dir=str(tmp_path / "logs"), display="none")
        assert ended.status == "success"
    again = {prompt: endpoint.asked[prompt] - before.get(prompt, 0) for prompt in known}
    assert again == {prompt: int(prompt in waiting) for prompt in known}
    logs = [read_eval_log(str(path)) for path in (tmp_path / "logs").glob("*.eval")]
    (whole,) = [log for log in logs if log.status == "success"]
    assert (metrics(whole)["questions"], metrics(whole)["accuracy"]) == (12, 1)


def finished(folder):
    """The samples that a log which is being written holds."""
    logs = list(folder.glob("*.eval"))
    try:
        return (read_eval_log(str(logs[0])).samples or []) if logs else []
    except (ValueError, OSError, KeyError, EOFError):  # half a write
        return []


def until(holds, seconds=240):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.2)
