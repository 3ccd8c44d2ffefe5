"""Rows of one task as requests to a receiver on this machine: retries, dead letters, idempotency keys, secrets."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark_without_jvm.sinks.receiver import Received, Receiver, receiving

from ostinato.errors import MatchError, OstinatoError
from ostinato.spark.sinks.retries import Surroundings
from ostinato.spark.sinks.sink_task import SinkTask
from ostinato.spark.sinks.webhook_options import WebhookOptions
from ostinato.spark.sinks.webhook_requests import WebhookRequests, json_rows

TASK = SinkTask("1b4e28ba-2fa1-11d2-883f-0016d3cca427", 3, 1, 77)
NOW = datetime(2024, 3, 1, 9, tzinfo=UTC)
SECRET = "Bearer hunter2"


@dataclass
class Waits:
    """A clock that moves by waiting only. Chance takes nothing away from a wait."""

    seconds: list[float] = field(default_factory=list)

    def surroundings(self, chance: float = 0.0) -> Surroundings:
        return Surroundings(
            sleep=self.seconds.append,
            now=lambda: NOW + timedelta(seconds=sum(self.seconds)),
            chance=lambda: chance,
        )


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with receiving() as found:
        yield found


def table(*ids: str | None) -> pa.Table:
    return pa.table({"match_id": pa.array(ids, pa.string()), "price": [float(number) for number in range(len(ids))]})


def deliver(
    receiver: Receiver, rows: pa.Table, waits: Waits | None = None, chance: float = 0.0, **options: object
) -> list[dict[str, object]]:
    """The dead letters."""
    texts = {"url": receiver.url, **{name: str(value) for name, value in options.items()}}
    read = WebhookOptions.read(texts)
    around = (waits or Waits()).surroundings(chance)
    requests = WebhookRequests(read, read.target(), TASK, around=around)
    return [json.loads(line) for line in requests.deliver(json_rows(rows.to_batches(), read.key))]


def test_rows_are_sent_in_order_several_a_request(receiver: Receiver) -> None:
    assert deliver(receiver, table("a", "b", "c"), rows_per_request=2) == []
    assert [[row["match_id"] for row in request.rows] for request in receiver.received] == [["a", "b"], ["c"]]
    first = receiver.received[0]
    assert (first.path, first.headers["content-type"]) == ("/hooks/path-secret", "application/json")
    assert first.body == b'[{"match_id":"a","price":0.0},{"match_id":"b","price":1.0}]'


@pytest.mark.parametrize(("body", "expected"), [("lines", b'{"x":1}\n{"x":2}\n'), ("object", b'{"x":1}')])
def test_forms_of_the_body(receiver: Receiver, body: str, expected: bytes) -> None:
    deliver(receiver, pa.table({"x": [1, 2]}), body=body)
    assert receiver.received[0].body == expected


def test_no_rows_no_request(receiver: Receiver) -> None:
    assert deliver(receiver, table()) == []
    assert receiver.received == []


# --- retries ----------------------------------------------------------------------------------------------------------


def test_waits_double_up_to_the_longest(receiver: Receiver) -> None:
    waits = Waits()
    receiver.answers += [500, 503, 429, 408]
    deliver(receiver, table("a"), waits, attempts=5, first_wait="2 seconds", longest_wait="10 seconds")
    assert waits.seconds == [2, 4, 8, 10]
    assert len({request.key for request in receiver.received}) == 1
    assert len(receiver.received) == 5


def test_chance_shortens_waits_by_a_half_at_most(receiver: Receiver) -> None:
    waits = Waits()
    receiver.answers += [500, 500]
    deliver(receiver, table("a"), waits, chance=1.0, first_wait="2 seconds")
    assert waits.seconds == [1, 2]


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [
        ("7", 7.0),
        ("Fri, 01 Mar 2024 09:00:20 GMT", 20.0),
        ("Fri, 01 Mar 2024 08:00:00 GMT", 1.0),  # past
        ("9" * 30, 60.0),  # the longest wait
        ("soon", 1.0),
        ("Fri, 01 Mar 99999 09:00:20 GMT", 1.0),
        (f"Fri, 01 Mar {10**30} 09:00:20 GMT", 1.0),  # more than a C integer
    ],
)
def test_the_receiver_may_ask_for_a_longer_wait(receiver: Receiver, retry_after: str, wait: float) -> None:
    waits = Waits()
    receiver.answers.append((429, {"Retry-After": retry_after}))
    deliver(receiver, table("a"), waits)
    assert waits.seconds == [wait]


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_refusal_is_not_repeated(receiver: Receiver, status: int, tmp_path: Path) -> None:
    waits = Waits()
    receiver.answers.append(status)
    letters = deliver(receiver, table("a"), waits, dead_letters=tmp_path)
    assert [(letter["status"], letter["attempts"]) for letter in letters] == [(status, 1)]
    assert waits.seconds == []


def test_a_redirect_is_not_followed(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers.append((307, {"Location": receiver.url}))
    (letter,) = deliver(receiver, table("a"), dead_letters=tmp_path)
    assert letter["reason"] == "answered with status 307 (a redirect, which isn't followed)"
    assert len(receiver.received) == 1


def test_a_slow_answer_counts_as_none(receiver: Receiver) -> None:
    """The receiver took the rows, but too late: they are sent again, with the same key."""
    is_over = threading.Event()
    receiver.answers.append(lambda handler: is_over.wait(20))
    try:
        assert deliver(receiver, table("a"), timeout="300 ms") == []
    finally:
        is_over.set()
    assert [request.key for request in receiver.received] == ["a", "a"]


def test_a_large_reply_is_not_read_and_the_rows_are_delivered(receiver: Receiver) -> None:
    def answer_at_length(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(64):
                handler.wfile.write(b"x" * (1 << 16))
        except OSError:
            pass

    receiver.answers.append(answer_at_length)
    assert deliver(receiver, table("a")) == []
    assert len(receiver.received) == 1


def test_nobody_listens(receiver: Receiver) -> None:
    nobody = Receiver("http://127.0.0.1:9/hooks/path-secret")
    waits = Waits()
    with pytest.raises(MatchError, match=r"at http://127\.0\.0\.1:9 was asked 3 times and can't be reached"):
        deliver(nobody, table("a"), waits, attempts=3)
    assert waits.seconds == [1, 2]


# --- dead letters -----------------------------------------------------------------------------------------------------


def test_dead_letters_tell_row_and_reason_and_the_rest_goes_on(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers += [200, 422, 200]
    letters = deliver(receiver, table(*"abcdef"), rows_per_request=2, dead_letters=tmp_path)
    assert [letter["row"] for letter in letters] == [
        {"match_id": "c", "price": 2.0},
        {"match_id": "d", "price": 3.0},
    ]
    assert {name: value for name, value in letters[0].items() if name != "row"} == {
        "reason": "answered with status 422",
        "status": 422,
        "attempts": 1,
        "at": "2024-03-01T09:00:00Z",
        "receiver": receiver.url.removesuffix("/hooks/path-secret"),
        "idempotency_key": receiver.received[1].key,
        "job": TASK.job,
        "epoch": 3,
        "partition": 1,
    }
    assert [row["match_id"] for row in receiver.rows] == list("abcdef")


def test_without_a_folder_a_row_that_is_not_taken_is_an_error(receiver: Receiver) -> None:
    receiver.answers += [200, 422]
    with pytest.raises(MatchError, match="WEBHOOK_FAILED"):
        deliver(receiver, table(*"abc"), rows_per_request=1)
    assert len(receiver.received) == 2


# --- idempotency keys -------------------------------------------------------------------------------------------------


def keys(receiver: Receiver, rows: pa.Table, **options: object) -> list[str]:
    receiver.received.clear()
    deliver(receiver, rows, **options)
    return [request.key for request in receiver.received]


def test_a_match_alone_has_its_id_as_key(receiver: Receiver) -> None:
    assert keys(receiver, table("a", "b"), body="object") == ["a", "b"]


@pytest.mark.parametrize("status", ["status", "STATUS"])
@pytest.mark.parametrize("key", [None, "match_id"])
def test_an_early_result_has_no_key_of_its_own(receiver: Receiver, status: str, key: str | None) -> None:
    """A receiver that drops rows by their key would otherwise never take the final row."""
    statuses = pa.array(["open", "extended", "extended", "withdrawn", "open", "final"])
    early = table(*"aaaaaa").append_column(status, statuses)
    *found, final = keys(receiver, early, body="object", **({} if key is None else {"key": key}))
    assert final == "a"
    assert len({*found, final}) == 6


def test_a_key_with_the_status_is_taken_as_it_is(receiver: Receiver) -> None:
    early = table("a", "a").append_column("status", pa.array(["open", "final"]))
    assert keys(receiver, early, body="object", key="match_id,status") == ["a:open", "a:final"]


@pytest.mark.parametrize(
    "status", [pa.array(["ok", None]), pa.array([1, 2]), pa.array([{"x": "open"}, None]), pa.array([[], ["open"]])]
)
def test_another_column_of_the_name_status_changes_no_key(receiver: Receiver, status: pa.Array) -> None:
    assert keys(receiver, table("a", "b").append_column("status", status), body="object") == ["a", "b"]


def test_keys_that_no_header_can_carry_are_hashed_and_stay_different(receiver: Receiver) -> None:
    odd = pa.table({"x": ["é", "a:b", "a", "", "a\r\nx: y", None], "y": ["", "c", "b:c", "a", "b", "z"]})
    found = keys(receiver, odd, body="object", key="x, y")
    assert len(set(found)) == 6
    assert all(key.isalnum() and len(key) == 32 for key in found)


def test_several_rows_have_a_key_of_all_their_ids(receiver: Receiver) -> None:
    first = keys(receiver, table("a", "b", "c"), rows_per_request=2)
    assert keys(receiver, table("a", "b", "d"), rows_per_request=2)[0] == first[0]
    assert keys(receiver, table("ab", "", "c"), rows_per_request=2)[0] != first[0]


def test_different_rows_never_share_a_key(receiver: Receiver) -> None:
    """The rows of ALL ROWS PER MATCH share the id of their match."""
    rows = pa.table({"match_id": ["a"] * 4, "x": [1, 2, 3, 4]})
    assert len(set(keys(receiver, rows, rows_per_request=2))) == 2
    with pytest.raises(OstinatoError, match="WEBHOOK_KEY_NOT_UNIQUE"):
        deliver(receiver, rows, rows_per_request=1)
    receiver.received.clear()
    assert keys(receiver, rows, rows_per_request=1, key="match_id,x") == ["a:1", "a:2", "a:3", "a:4"]
    receiver.received.clear()
    assert keys(receiver, table("a").take([0, 0]), rows_per_request=1) == ["a", "a"]


def test_keys_have_all_digits_of_a_number(receiver: Receiver) -> None:
    digits = ["12345678901234567890.12", "12345678901234567890.34"]
    rows = pa.table({"x": pa.array(map(Decimal, digits), pa.decimal128(38, 2))})
    assert keys(receiver, rows, rows_per_request=1, key="x") == digits


def test_without_ids_a_key_tells_place_and_content(receiver: Receiver) -> None:
    """A replay may order its rows otherwise. A key by position alone would then hide rows from the receiver."""
    forth = keys(receiver, pa.table({"x": [1, 2, 3]}), rows_per_request=1)
    assert keys(receiver, pa.table({"x": [3, 1, 2]}), rows_per_request=1) == [forth[2], forth[0], forth[1]]
    assert len(set(keys(receiver, pa.table({"x": [1, 1, 1]}), rows_per_request=1))) == 3
    with_null = table("a", None)
    assert keys(receiver, with_null, body="object")[0] == "a"


def test_an_unknown_key_column_is_refused(receiver: Receiver) -> None:
    with pytest.raises(OstinatoError, match=r"UNKNOWN_COLUMN: key: .*'match'\nhint: did you mean 'match_id'"):
        deliver(receiver, table("a"), key="match")


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_secrets_come_from_the_environment_or_a_file(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", SECRET)
    (tmp_path / "url").write_text(f"{receiver.url}\n")
    read = WebhookOptions.read(
        {
            "url_file": str(tmp_path / "url"),
            "header_env.Authorization": "HOOK_TOKEN",
            "header.X-Source": "ostinato tests",
            "dead_letters": str(tmp_path / "dead"),
        }
    )
    target = read.target()
    requests = WebhookRequests(read, target, TASK, around=Waits().surroundings())
    receiver.answers += [(400, {"X-Echo": SECRET})]
    letters = list(requests.deliver(json_rows(table("a").to_batches(), None)))
    (request,) = receiver.received
    assert (request.headers["authorization"], request.headers["x-source"]) == (SECRET, "ostinato tests")
    for shown in (repr(read), repr(target), *letters):
        assert "hunter2" not in shown
        assert "path-secret" not in shown


def test_no_error_shows_a_secret(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", SECRET)
    receiver.answers.append(400)
    with pytest.raises(MatchError) as caught:
        deliver(receiver, table("a"), **{"header_env.authorization": "HOOK_TOKEN"})
    shown = "".join(traceback.format_exception(caught.value))
    assert "WEBHOOK_FAILED" in shown
    assert "hunter2" not in shown
    assert "path-secret" not in shown


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "INVALID_OPTION: a webhook has one address"),
        ({"url": "http://h", "url_env": "X"}, "INVALID_OPTION: a webhook has one address"),
        ({"url": "ftp://h/hunter2"}, "INVALID_OPTION: url isn't an address"),
        ({"url": "file:///etc/hunter2"}, "INVALID_OPTION: url isn't an address"),
        ({"url": "http://h:99999/hunter2"}, "INVALID_OPTION: url isn't an address"),
        ({"url": "http://h/hunter2\r\nX: y"}, "INVALID_OPTION: url isn't an address"),
        ({"url": "http://user:hunter2@h"}, "SECRET_IN_OPTION"),
        ({"url": "http://h/#hunter2"}, "INVALID_OPTION: url ends before '#'"),
        ({"url": "http://h", "header.Authorization": "hunter2"}, "SECRET_IN_OPTION: header.authorization"),
        ({"url": "http://h", "header.X-Api-Key": "hunter2"}, "SECRET_IN_OPTION"),
        ({"url": "http://h", "header.Host": "other"}, "INVALID_OPTION: header.host"),
        ({"url": "http://h", "header.a b": "c"}, "INVALID_OPTION: header.a b"),
        ({"url": "http://h", "header.x": "1", "header_env.X": "Y"}, "INVALID_OPTION: header_env.x: the header"),
        ({"url": "http://h", "body": "xml"}, "INVALID_OPTION: body can't be 'xml'"),
        ({"url": "http://h", "body": "object", "rows_per_request": "2"}, "INVALID_OPTION: body=object"),
        ({"url": "http://h", "rows_per_request": "0"}, "INVALID_OPTION: rows_per_request"),
        ({"url": "http://h", "attempts": "many"}, "INVALID_OPTION: attempts"),
        ({"url": "http://h", "timeout": "5"}, "INVALID_BOUND: timeout"),
        ({"url": "http://h", "dead_letters": "here"}, "INVALID_OPTION: dead_letters"),
        ({"url": "http://h", "dead_letters": "s3://bucket/dead"}, "INVALID_OPTION: dead_letters"),
        ({"url": "http://h", "atempts": "3"}, "INVALID_OPTION: there is no option 'atempts'"),
    ],
)  # fmt: skip
def test_bad_options_are_refused_and_tell_no_secret(options: dict[str, str], code: str) -> None:
    with pytest.raises(OstinatoError) as caught:
        WebhookOptions.read(options)
    assert str(caught.value).startswith(code)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"URL": "http://h"}, "SECRET_MISSING: header_env.x-token names the environment variable TOKEN"),
        ({"URL": "http://h", "TOKEN": "hunter2\nX: y"}, "INVALID_OPTION: header_env.x-token isn't one line"),
        ({"URL": "hunter2", "TOKEN": "t"}, "INVALID_OPTION: url_env isn't an address"),
    ],
)
def test_secrets_are_checked_where_they_are_read(environment: dict[str, str], code: str) -> None:
    read = WebhookOptions.read({"url_env": "URL", "header_env.X-Token": "TOKEN"})
    with pytest.raises(OstinatoError) as caught:
        read.target(environment)
    assert str(caught.value).startswith(code)
    assert "hunter2" not in str(caught.value)


def test_options_have_no_case() -> None:
    read = WebhookOptions.read({"URL": "http://h", "Rows_Per_Request": "7", "checkpointLocation": "/x"})
    assert read.rows_per_request == 7


def test_what_is_received_is_read_as_rows() -> None:
    assert Received("/", {"content-type": "application/json"}, b'{"x": 1}').rows == [{"x": 1}]
