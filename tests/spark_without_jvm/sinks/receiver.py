"""A receiver of webhooks on this machine. It answers as told, and records the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = int | tuple[int, Mapping[str, str]] | Callable[[BaseHTTPRequestHandler], None]
"""A status, a status with headers, or a function that answers by itself."""


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def rows(self) -> list[Any]:
        """The rows of a body that is an array, lines or one object."""
        if "ndjson" in self.headers["content-type"]:
            return [json.loads(line) for line in self.body.splitlines()]
        value = json.loads(self.body)
        return value if isinstance(value, list) else [value]


@dataclass
class Receiver:
    """`answers` are given in order. Without any more it answers 204."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    @property
    def rows(self) -> list[Any]:
        return [row for request in self.received for row in request.rows]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that runs inside the block. It listens on loopback only."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                receiver.received.append(Received(self.path, headers, body))
                answer = receiver.answers.pop(0) if receiver.answers else 204
            if callable(answer):
                answer(self)
                return
            status, more = answer if isinstance(answer, tuple) else (answer, {})
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}/hooks/path-secret")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()
