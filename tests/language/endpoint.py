"""An OpenAI-compatible endpoint on this machine, which behaves as a test says."""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """Answers questions, and counts how often each was asked.

    Attributes:
        behave: told the prompt and how often it came before; gives a status and a text.
        asked: how often every prompt came.
        bodies: the requests, in their order.
    """

    def __init__(self, behave):
        self.behave, self.asked, self.bodies = behave, Counter(), []
        self.lock, self.url = threading.Lock(), ""

    def answer(self, body):
        prompt = body["messages"][-1]["content"]
        with self.lock:
            before = self.asked[prompt]
            self.asked[prompt] += 1
            self.bodies.append(body)
        return self.behave(prompt, before)

    def environment(self):
        return {"TEST_BASE_URL": self.url, "TEST_API_KEY": "none"}


@contextmanager
def serving(behave):
    """An endpoint, as long as the block runs."""
    endpoint = Endpoint(behave)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            status, text = endpoint.answer(json.loads(self.rfile.read(length)))
            said = completion(text) if status == 200 else {"error": {"message": text}}
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # who asked has given up

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text):
    if isinstance(text, bytes):  # sent as it is
        return text
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "model",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
