"""A model behind an OpenAI-compatible endpoint, played by a server on this machine."""

from __future__ import annotations

import io
import json
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.path_queries.questions import chat_endpoint as path_endpoint


class _Model(BaseHTTPRequestHandler):
    """Answers with the server's `replies`, and records the requests."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.asked.append((self.path, dict(self.headers), json.loads(self.rfile.read(length))))  # type: ignore[attr-defined]
        reply = self.server.replies.pop(0)  # type: ignore[attr-defined]
        if callable(reply):
            reply(self)
            return
        status, body = reply if isinstance(reply, tuple) else (200, _completion(reply))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _completion(text: str) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), _Model) as found:
        found.asked, found.replies = [], []  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
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
    nothing = ost.paths("release_year", start="Alila").run(FILMS).table
    assert endpoint(server).answer("?", "Alila", nothing) == []
    assert server.asked == []


def test_names_are_told_as_path_queries_spell_them_and_a_refusal_proposes_nothing(server: Any) -> None:
    refusal = json.dumps({"choices": [{"message": {"content": None}}]})
    server.replies.append((200, refusal))
    host, port = server.server_address
    model = ost.ChatEndpoint(f"http://{host}:{port}", "some-model", ("written by", "film.year"))
    assert model.propose("?", "Alila") == []
    assert "`written by`, film.year" in server.asked[0][2]["messages"][0]["content"]


def failure(model: ost.ChatEndpoint) -> ost.EnvironmentFault:
    with pytest.raises(ost.EnvironmentFault) as caught:
        model.propose("?", "Alila")
    assert caught.value.code == "ENDPOINT_FAILED"
    return caught.value


LIST_CONTENT = json.dumps({"choices": [{"message": {"content": [1]}}]})


@pytest.mark.parametrize(
    "reply",
    [(500, "down"), (200, "not json"), (200, "{}"), (200, "[1]"), (200, ""), (200, LIST_CONTENT), (200, "[" * 200_000)],
)
def test_a_failing_endpoint_is_an_error_of_ours(server: Any, reply: tuple[int, str]) -> None:
    server.replies.append(reply)
    failure(endpoint(server))


def test_half_a_character_in_a_reply_becomes_a_question_mark(server: Any) -> None:
    server.replies.append((200, '{"choices": [{"message": {"content": "Ked\\ud800ma"}}]}'))
    found = ost.paths("written_by", start="Alila").run(FILMS).table
    assert endpoint(server).answer("?", "Alila", found) == ["Ked?ma"]


def test_nobody_listens() -> None:
    with HTTPServer(("127.0.0.1", 0), _Model) as taken:
        _, port = taken.server_address
    assert "can't be reached" in str(failure(ost.ChatEndpoint(f"http://127.0.0.1:{port}", "some-model")))


# --- what a proposal may walk -----------------------------------------------------------------------------------------


def test_an_edge_of_any_relation_is_not_among_the_allowed_ones(server: Any) -> None:
    proposals = ".\n^.\nwritten_by / .{1,5}\n(written_by | .)\n.[Person]\nwritten_by / ^written_by"
    server.replies += [proposals, proposals]
    allowed = endpoint(server, k=10)
    assert [query.text for query in allowed.propose("?", "Alila")] == ["written_by / ^written_by"]
    anything = ost.ChatEndpoint(allowed.url, "some-model", k=10)
    assert len(anything.propose("?", "Alila")) == 6


# --- where a call goes, and for how long ------------------------------------------------------------------------------

SECRET = "sk-not-for-your-eyes"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(server: Any, status: int) -> None:
    def redirect(model: _Model) -> None:
        host, port = server.server_address
        model.send_response(status)
        model.send_header("Location", f"http://{host}:{port}/elsewhere")
        model.end_headers()

    server.replies += [redirect, "written_by"]
    assert "redirect" in str(failure(endpoint(server, key=SECRET)))
    assert len(server.asked) == 1


def trickled(beginning: bytes, server: Any) -> Callable[[_Model], None]:
    """A reply that never ends: a byte now and then, so that no single read takes long."""

    def reply(model: _Model) -> None:
        model.wfile.write(beginning)
        try:
            while not server.released.wait(0.01):
                model.wfile.write(b" ")
                model.wfile.flush()
        except OSError:
            server.hung_up.set()

    return reply


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n",
    ],
)
def test_the_time_out_is_for_the_whole_call(server: Any, beginning: bytes) -> None:
    server.released, server.hung_up = threading.Event(), threading.Event()
    server.replies.append(trickled(beginning, server))
    try:
        assert "gave no reply within 0.2 s" in str(failure(endpoint(server, timeout=0.2)))
        assert server.hung_up.wait(60)  # the connection is shut: no thread goes on reading
    finally:
        server.released.set()


def test_the_time_out_covers_a_host_that_nobody_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: released.wait(60) and [])
    try:
        assert "within 0.2 s" in str(failure(ost.ChatEndpoint("http://nowhere.invalid", "some-model", timeout=0.2)))
    finally:
        released.set()


def test_a_reply_has_a_largest_size(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_endpoint, "LARGEST_REPLY_BYTES", 1000)
    server.replies += [(200, " " * 1001), "written_by"]
    assert "more than 1,000 bytes" in str(failure(endpoint(server)))
    assert len(endpoint(server).propose("?", "Alila")) == 1


# --- secrets ----------------------------------------------------------------------------------------------------------


def shown(error: BaseException) -> str:
    """An error as text in every way that people see one, local variables of all frames included."""
    text = io.StringIO()
    traceback.TracebackException.from_exception(error, capture_locals=True).print(file=text)
    frames = []
    walked: BaseException | None = error
    while walked is not None:  # also what `from None` hides
        frames += [str(frame.f_locals) for frame, _ in traceback.walk_tb(walked.__traceback__)]
        walked = walked.__cause__ or walked.__context__
    return "\n".join([text.getvalue(), str(error), repr(error), repr(pickle.dumps(error)), *frames])


def repeats_the_key(model: _Model) -> None:
    """A server that repeats the request in the status line, a header and the body."""
    said = model.headers["Authorization"]
    model.wfile.write(f"HTTP/1.1 401 {said}\r\nX: {said}\r\n\r\n{said}".encode())


def answers_no_http(model: _Model) -> None:
    model.wfile.write(f"{model.headers['Authorization']}\r\n".encode())


@pytest.mark.parametrize("reply", [repeats_the_key, answers_no_http, (200, f'{{"{SECRET}": 1}}'), (500, SECRET)])
def test_no_error_holds_the_key(server: Any, reply: Any) -> None:
    server.replies.append(reply)
    model = endpoint(server, key=SECRET)
    error = failure(model)
    assert server.asked[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in shown(error)
    assert SECRET not in repr(model) + str(model)
    assert pickle.loads(pickle.dumps(model)) == model  # tasks of Spark ask with it


BAD = {
    "no scheme": {"url": "models.example/v1"},
    "a file": {"url": "file:///etc/hostname"},
    "ftp": {"url": "ftp://models.example"},
    "data": {"url": "data:text/plain,x"},
    "no host": {"url": "http:///v1"},
    "a bad port": {"url": "http://models.example:99999"},
    "a bad address": {"url": "http://[::1/v1"},
    "a blank": {"url": "http://models.example/a b"},
    "a line break": {"url": "http://models.example/\nv1"},
    "a letter that isn't ASCII": {"url": "http://models.example/ö"},
    "a password": {"url": f"http://me:{SECRET}@models.example"},
    "a query": {"url": f"http://models.example/v1?key={SECRET}"},
    "a key as url": {"url": SECRET},
    "no text as url": {"url": None},
    "a key with a line break": {"key": f"{SECRET}\n"},
    "a key with a header": {"key": f"{SECRET}\r\nX: y"},
    "a key that isn't ASCII": {"key": f"{SECRET}ö"},
    "an empty key": {"key": ""},
    "a key in bytes": {"key": SECRET.encode()},
    "no model": {"model": None},
    "an empty model": {"model": ""},
    "one relation": {"relations": "written_by"},
    "no relations": {"relations": None},
    "a number of relations": {"relations": 5},
    "a key as relations": {"relations": [SECRET.encode()]},
    "no proposals": {"k": 0},
    "no facts": {"most_facts": True},
    "no time": {"timeout": 0},
    "a flag as time": {"timeout": True},
    "more time than sockets have": {"timeout": 10**400},
    "no end": {"timeout": float("inf")},
    "a time as text": {"timeout": "5 s"},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_bad_options_are_errors_of_ours_that_tell_no_secret(changes: dict[str, Any]) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.ChatEndpoint(**{"url": "http://models.example/v1", "model": "some-model", **changes})
    assert caught.value.code == "INVALID_OPTION"
    assert SECRET not in str(caught.value) + repr(caught.value)


def test_relations_are_kept_as_a_tuple() -> None:
    model = ost.ChatEndpoint("http://models.example/v1", "some-model", ["written_by"])
    assert model.relations == ("written_by",)
    assert hash(model) == hash(ost.ChatEndpoint("http://models.example/v1", "some-model", ("written_by",)))
