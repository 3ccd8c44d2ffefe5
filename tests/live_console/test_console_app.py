"""The web application: who may do what, and how refusals look."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.live_console.console_files import START, TWICE, event_rows, output_row, write_rows

import ostinato as ost
from ostinato.live_console.model.live_model import Cursor, LiveModel
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.rules.rule_desk import RuleDesk
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.server.event_stream import events
from ostinato.live_console.server.request_guard import Door, RequestGuard
from ostinato.live_console.sources.page_settings import Sources

pytest.importorskip("httpx")
testclient = pytest.importorskip("starlette.testclient")

HOST = "127.0.0.1:8765"
TOKEN = "right"
SAVE = {"id": "twice", "text": "PATTERN (A)", "enabled": True, "seen_version": 1, "confirmed": True}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(event_rows(), tmp_path / "events.parquet")
    ost.write_rule(tmp_path / "rules", "twice", TWICE)
    rows = [output_row(user="ann", began=START, ended=START.replace(minute=2))]
    write_rows(tmp_path / "sink" / "a.parquet", rows)
    return tmp_path


def client_of(
    folder: Path, door: Door | None = None, *, table: str = "events.parquet", terms: RuleTerms | None = None
) -> Any:
    from ostinato.live_console.server.console_app import console_app

    sources = Sources(folder / "rules", folder / "sink", table=folder / table)
    model = LiveModel(sources)
    SourcePoller(model).look()
    app = console_app(model, RuleDesk(model, terms or RuleTerms()), door or Door.at("127.0.0.1", 8765, TOKEN))
    return testclient.TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)


@pytest.fixture
def client(folder: Path) -> Iterator[Any]:
    yield client_of(folder)


def code(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def with_token(**more: str) -> dict[str, str]:
    return {"X-Ostinato-Token": TOKEN, **more}


def test_the_page_and_its_files(client: Any) -> None:
    page = client.get("/")
    assert page.status_code == 200 and "Ostinato" in page.text
    for path in ("/console.css", "/console.svg", *[f"/{name}.js" for name in ("console", "details", "timeline")]):
        assert client.get(path).status_code == 200, path
    assert client.get("/../pyproject.toml").status_code == 404
    assert client.get("/page.html").status_code == 404


def test_every_answer_keeps_the_page_to_itself(client: Any) -> None:
    for response in (client.get("/"), client.get("/api/rule?id=twice"), client.get("/nothing"), client.post("/api/x")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in response.headers


def test_the_page_has_no_script_or_style_of_its_own(client: Any) -> None:
    page = client.get("/").text
    assert (
        "<style" not in page
        and "style=" not in page
        and "<script>" not in page
        and " on" not in page.split("<body>")[0]
    )
    for name in ("console", "details", "timeline", "tiles", "virtual_list", "words", "connection"):
        script = client.get(f"/{name}.js").text
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert forbidden not in script, (name, forbidden)


def test_reading_on_loopback_needs_no_token(client: Any) -> None:
    assert client.get("/api/rule?id=twice").json()["text"] == TWICE
    assert client.get("/api/rows/1").json()["rule"] == "twice"
    picture = client.get("/api/rows/1/picture")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
    assert client.get("/api/rule/picture?id=twice").text.startswith("<svg")


def test_writing_needs_the_token(client: Any, folder: Path) -> None:
    for headers in ({}, {"X-Ostinato-Token": "wrong"}, {"X-Ostinato-Token": ""}, {"Cookie": f"token={TOKEN}"}):
        for path in ("/api/rule/save", "/api/rule/test"):
            assert code(client.post(path, json=SAVE, headers=headers)) == (401, "TOKEN_NEEDED")
    assert code(client.post(f"/api/rule/save?token={TOKEN}", json=SAVE)) == (401, "TOKEN_NEEDED")
    assert len(list((folder / "rules").iterdir())) == 1
    assert client.post("/api/rule/save", json=SAVE, headers=with_token()).json() == {"id": "twice", "version": 2}
    assert len(list((folder / "rules").iterdir())) == 2


def test_only_the_request_is_said_to_be_no_json(client: Any, folder: Path) -> None:
    headers = with_token(**{"Content-Type": "application/json"})
    for body in ("{", "[" * 100_000, "[]"):
        assert code(client.post("/api/rule/test", content=body, headers=headers)) == (400, "REQUEST_REFUSED")
    table = event_rows()
    texts = pa.array(["soon"] * table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("ts"), "ts", texts), folder / "texts.parquet")
    asked = {"id": "twice", "text": TWICE}
    client = client_of(folder, table="texts.parquet", terms=RuleTerms(("user",), ("ts",)))
    answer = client.post("/api/rule/test", json=asked, headers=headers)
    assert code(answer) == (400, "CONSOLE_NEEDS_COLUMNS")
    assert "--time" in answer.json()["error"]["hint"]
    client = client_of(folder)
    assert client.post("/api/rule/test", json=asked, headers=headers).json()["matches"] == 1


def test_writing_needs_a_confirmation_and_the_version_that_was_seen(client: Any) -> None:
    for change, expected in (
        ({"confirmed": "yes"}, "CONFIRMATION_NEEDED"),
        ({"confirmed": False}, "CONFIRMATION_NEEDED"),
        ({"seen_version": 7}, "RULE_CHANGED_MEANWHILE"),
        ({"seen_version": "1"}, "INVALID_OPTION"),
        ({"enabled": "no"}, "INVALID_OPTION"),
        ({"id": 7}, "INVALID_RULE"),
        ({"text": None}, "INVALID_OPTION"),
    ):
        assert code(client.post("/api/rule/save", json={**SAVE, **change}, headers=with_token())) == (400, expected)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://evil.example"}, (403, "ORIGIN_REFUSED")),
        ({"Origin": "null"}, (403, "ORIGIN_REFUSED")),
        ({"Origin": "http://127.0.0.1:9999"}, (403, "ORIGIN_REFUSED")),
        ({"Sec-Fetch-Site": "cross-site"}, (403, "ORIGIN_REFUSED")),
        ({"Sec-Fetch-Site": "same-site"}, (403, "ORIGIN_REFUSED")),
        ({"Host": "evil.example:8765"}, (421, "HOST_REFUSED")),
        ({"Host": "127.0.0.1"}, (421, "HOST_REFUSED")),
        ({"Host": ""}, (421, "HOST_REFUSED")),
    ],
)
def test_other_sites_are_refused_even_with_the_token(client: Any, headers: dict[str, str], expected: Any) -> None:
    assert code(client.post("/api/rule/save", json=SAVE, headers=with_token(**headers))) == expected
    assert code(client.get("/api/rule?id=twice", headers=headers)) == expected


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_of_another_site_opens_the_page_and_nothing_else(client: Any, site: str) -> None:
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=link).status_code == 200
    for path in ("/api/rule?id=twice", "/api/rows/1/picture", "/console.js"):
        assert code(client.get(path, headers=link)) == (403, "ORIGIN_REFUSED"), path
    for change in ({"Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Mode": "no-cors"}, {"Origin": "http://evil.example"}):
        assert code(client.get("/", headers={**link, **change})) == (403, "ORIGIN_REFUSED"), change
    assert code(client.post("/", headers=with_token(**link))) == (403, "ORIGIN_REFUSED")


def test_a_form_of_another_site_isnt_json(client: Any) -> None:
    headers = with_token(**{"Content-Type": "text/plain"})
    assert code(client.post("/api/rule/save", content=json.dumps(SAVE), headers=headers)) == (415, "REQUEST_REFUSED")


def test_the_own_page_may_write(client: Any) -> None:
    headers = with_token(Origin=f"http://{HOST}", **{"Sec-Fetch-Site": "same-origin"})
    assert client.post("/api/rule/test", json={"id": "x", "text": TWICE}, headers=headers).json()["matches"] == 1
    assert client.get("/api/rule?id=twice", headers={"Host": "localhost:8765"}).status_code == 200


def test_beyond_loopback_reading_needs_the_token_too(folder: Path) -> None:
    for door in (Door.at("0.0.0.0", 8765, TOKEN), Door.at("192.0.2.7", 8765, TOKEN)):
        client = client_of(folder, door)
        host = {"Host": "192.0.2.7:8765"}
        assert client.get("/", headers=host).status_code == 200
        for path in ("/api/rule?id=twice", "/api/rows/1", "/api/rows/1/picture", "/api/events", "/api/none"):
            assert code(client.get(path, headers=host)) == (401, "TOKEN_NEEDED"), path
        assert client.get("/api/rule?id=twice", headers=with_token(**host)).status_code == 200


def test_bad_requests_are_our_errors(client: Any) -> None:
    bodies = [b"{", b"[]", b'"x"', b"\xff", json.dumps({"text": "x" * 300_000}).encode()]
    headers = with_token(**{"Content-Type": "application/json"})
    for body in bodies:
        assert code(client.post("/api/rule/test", content=body, headers=headers)) == (400, "REQUEST_REFUSED")
    assert code(client.get("/api/rule?id=../../etc")) == (400, "UNKNOWN_RULE")
    assert code(client.get("/api/rows/99999999999999999999")) == (400, "ROW_GONE")
    assert client.get("/api/rows/..%2f..%2fetc").status_code == 404


def test_a_defect_doesnt_show_its_text(folder: Path, monkeypatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret path /etc/secret")

    monkeypatch.setattr(RuleDesk, "text", broken)
    response = client_of(folder).get("/api/rule?id=twice")
    assert code(response) == (500, "INTERNAL_ERROR") and "secret" not in response.text


def test_events_start_with_everything_and_go_on_from_the_last_one(folder: Path) -> None:
    model = LiveModel(Sources(matches=folder / "sink"))
    poller = SourcePoller(model)
    poller.look()

    async def first_of(cursor: Cursor) -> Any:
        stream = events(model, cursor)
        event = await anext(stream)
        await stream.aclose()
        head, data = event.strip().split("\n")
        return head.removeprefix("id: "), json.loads(data.removeprefix("data: "))

    last, delta = asyncio.run(first_of(Cursor()))
    assert delta["starts"] and [row[2] for row in delta["rows"]] == ["twice"]
    write_rows(folder / "sink" / "b.parquet", [output_row("other")])
    poller.look()
    from ostinato.live_console.server.event_stream import read_cursor

    _, delta = asyncio.run(first_of(read_cursor(last)))
    assert "starts" not in delta and [row[2] for row in delta["rows"]] == ["other"]


def test_web_sockets_are_refused() -> None:
    guard = RequestGuard(lambda *_: None, Door.at("127.0.0.1", 1, TOKEN))  # type: ignore[arg-type,return-value]
    with pytest.raises(ost.QueryError, match="REQUEST_REFUSED"):
        asyncio.run(guard({"type": "websocket"}, None, None))  # type: ignore[arg-type]


def test_every_file_of_the_page_is_part_of_the_package() -> None:
    """setuptools takes the files whose endings pyproject.toml lists, and the application serves each of them."""
    import tomllib

    root = Path(ost.__file__).parent
    pyproject = tomllib.loads((root.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    endings = pyproject["tool"]["setuptools"]["package-data"]["ostinato"]
    from ostinato.live_console.server.console_app import PAGE_FILES

    files = {path.name for path in (root / "live_console" / "page").iterdir()}
    assert files == set(PAGE_FILES.values())
    assert all(f"**/*{Path(name).suffix}" in endings for name in files)
