"""A model behind an OpenAI-compatible endpoint, played by a server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost


class _Model(BaseHTTPRequestHandler):
    """Answers what the server's `replies` say, and writes down what it was asked."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.asked.append((self.path, dict(self.headers), json.loads(self.rfile.read(length))))  # type: ignore[attr-defined]
        reply = self.server.replies.pop(0)  # type: ignore[attr-defined]
        status, body = reply if isinstance(reply, tuple) else (200, _completion(reply))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _completion(text: str) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})


@pytest.fixture
def server() -> Iterator[Any]:
    with HTTPServer(("127.0.0.1", 0), _Model) as found:
        found.asked, found.replies = [], []  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


FILMS = pa.table(
    {
        "head": ["Alila", "Kedma", "1984"],
        "relation": ["written_by", "written_by", "release_year"],
        "tail": ["Amos Gitai", "Amos Gitai", "1984"],
    }
)


def endpoint(server: Any, **changes: Any) -> ost.ChatEndpoint:
    graph = ost.graph(FILMS)
    host, port = server.server_address
    return ost.ChatEndpoint(f"http://{host}:{port}/v1/", "some-model", graph.relations, **changes)


def test_it_proposes_and_answers(server: Any) -> None:
    server.replies += ["1. written_by / ^written_by\n- release_year\nwritten_by", "* Kedma\n1984\n* Kedma"]
    model = endpoint(server, key="secret", k=2)
    reply = ost.GraphQuestions(ost.graph(FILMS), model, model, simple=True).ask("who else?", "Alila")
    assert [(query.text, query.weight) for query in reply.queries] == [
        ("written_by / ^written_by", 1.0),
        ("release_year", 0.5),
    ]
    assert reply.answers == ("Kedma", "1984")
    (path, headers, body), (_, _, second) = server.asked
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert body["model"] == "some-model"
    assert "release_year, written_by" in body["messages"][0]["content"]
    assert "Alila -[written_by]-> Amos Gitai <-[written_by]- Kedma" in second["messages"][0]["content"]
    assert "secret" not in repr(model)


def test_what_is_no_path_query_is_left_out(server: Any) -> None:
    server.replies += ["Sure! Here are some paths:\nimport os\nnobody / written_by\nwritten_by"]
    assert [query.text for query in endpoint(server).propose("?", "Alila")] == ["written_by"]


def test_without_facts_nobody_is_asked(server: Any) -> None:
    nothing = ost.paths(FILMS, "release_year", start="Alila").table
    assert endpoint(server).answer("?", "Alila", nothing) == []
    assert server.asked == []


def test_names_are_told_as_path_queries_spell_them_and_a_refusal_proposes_nothing(server: Any) -> None:
    refusal = json.dumps({"choices": [{"message": {"content": None}}]})
    server.replies.append((200, refusal))
    host, port = server.server_address
    model = ost.ChatEndpoint(f"http://{host}:{port}", "some-model", ("written by", "film.year"))
    assert model.propose("?", "Alila") == []
    assert "`written by`, film.year" in server.asked[0][2]["messages"][0]["content"]


LIST_CONTENT = json.dumps({"choices": [{"message": {"content": [1]}}]})


@pytest.mark.parametrize("reply", [(500, "down"), (200, "not json"), (200, "{}"), (200, "[1]"), (200, LIST_CONTENT)])
def test_a_failing_endpoint_is_an_error_of_ours(server: Any, reply: tuple[int, str]) -> None:
    server.replies.append(reply)
    with pytest.raises(ost.EnvironmentFault) as caught:
        endpoint(server).propose("?", "Alila")
    assert caught.value.code == "ENDPOINT_FAILED"
