"""The tasks asked over HTTP, of an endpoint that fails or babbles."""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `llm`")

from inspecting import QUIET, asked, logged, metrics

pytestmark = QUIET


@contextmanager
def serving(behave):
    """An OpenAI-compatible endpoint on this machine: its address, as long as the block runs.

    Args:
        behave: told the prompt and how often it came before; gives a status and a text.
    """
    came, lock = Counter(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            with lock:
                before = came[prompt]
                came[prompt] += 1
            status, text = behave(prompt, before)
            said = completion(text) if status == 200 else {"error": {"message": text}}
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def completion(text):
    if isinstance(text, bytes):  # sent as it is
        return text
    message = {"role": "assistant", "content": text}
    return {
        **{"id": "1", "object": "chat.completion", "created": 0, "model": "model"},
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def run(address, log_dir, n):
    """The address is named, because Inspect keeps the models of a process by name and address."""
    return logged(
        "headway/equations",
        model="openai-api/test/model",
        model_base_url=address,
        task_args={"d": 1, "n": n, "draws": 3},
        max_retries=0,
        log_dir=str(log_dir),
        display="none",
    )


def numbered(log):
    return {int(sample.id.split("-")[1]): sample for sample in log.samples}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "none")


def test_every_sample_ends_scored_or_named_as_failed(tmp_path):
    known = list(asked("equations", (1,), n=7).values())
    numbers = {question.prompt: number for number, question in enumerate(known)}

    broken, busy = (500, "out of order"), (429, "too many")
    at_first = {0: broken, 1: busy}
    always = {2: (200, "I would rather not say"), 3: broken, 4: busy, 5: (200, b"<html>not JSON")}

    def behave(prompt, before):
        number = numbers[prompt]
        if not before and number in at_first:
            return at_first[number]
        return always.get(number, (200, known[number].correct))

    with serving(behave) as address:
        log = run(address, tmp_path, 7)
    samples = numbered(log)
    assert sorted(samples) == list(range(7))
    values = {n: s.scores["acceptable_answer"].value for n, s in samples.items() if s.scores}
    assert values == {0: "C", 1: "C", 2: "N", 6: "C"}
    failed = {number: sample.error.message for number, sample in samples.items() if sample.error}
    assert sorted(failed) == [3, 4, 5]
    assert "out of order" in failed[3]
    assert "too many" in failed[4]
    assert log.status == "error"  # so that eval-retry asks those three again
    assert (log.results.total_samples, log.results.completed_samples) == (7, 4)
    found = metrics(log)
    assert (found["questions"], found["accuracy"], found["unanswered"]) == (4, 3 / 4, 1 / 4)
