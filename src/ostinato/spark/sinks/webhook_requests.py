"""Rows of one task -> requests, sent in order. Rows that the receiver didn't take become dead letters, or an error.

A task that fails is repeated, and so is a batch after a restart. So a row is sent at least once. Every request has an
idempotency key, by which a receiver can tell that it has the rows already.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.http_call import call
from ostinato.errors import MatchError, QueryError, did_you_mean
from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json
from ostinato.spark.sinks.retries import Outcome, Reply, Retries, Surroundings, send_with_retries
from ostinato.spark.sinks.sink_task import SinkTask
from ostinato.spark.sinks.webhook_options import IDEMPOTENCY_KEY, Target, WebhookOptions
from ostinato.streams.stream_settings import EXTENDED, OPEN, STATUS_COLUMN, WITHDRAWN

LARGEST_REPLY_BYTES = 1 << 20
_DEFAULT_KEY = "match_id"
_LONGEST_PLAIN_KEY = 200
_PRELIMINARY = (OPEN, EXTENDED, WITHDRAWN)
"""The status of a row that later rows with the same key replace. The same one may come again, too."""
_PLAIN = re.compile(r"[!-9;-~]+")
"""Visible ASCII without the colon."""

Send = Callable[[urllib.request.Request, float], Reply]
"""A request and its timeout in seconds -> the reply."""


def send_over_network(request: urllib.request.Request, timeout_seconds: float) -> Reply:
    """Follows no redirect, and bounds the time and the size of the reply."""
    return call(request, timeout_seconds=timeout_seconds, most_bytes=LARGEST_REPLY_BYTES)


@dataclass(frozen=True, slots=True)
class JsonRow:
    """A row as a JSON object, and the values of its key columns as a JSON array; None without a key."""

    text: str
    key: str | None


def json_rows(batches: Iterable[pa.RecordBatch], key: Sequence[str] | None) -> Iterator[JsonRow]:
    """The rows with their keys. A row with a NULL in its first key column has none, and neither has an early result
    that isn't final."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        columns = key_columns(table.column_names, key)
        texts = as_json(table, Settings(), iso_times=True).to_pylist()
        if not columns:
            yield from (JsonRow(text, None) for text in texts)
            continue
        keys = as_json(table.select(columns), Settings(), iso_times=True).to_pylist()
        has_key = table.column(columns[0]).is_valid()
        status = _status_column(table, columns)
        if status is not None:
            has_key = pc.and_not(has_key, pc.is_in(status, pa.array(_PRELIMINARY, status.type)))
        for text, one, is_there in zip(texts, keys, has_key.to_pylist(), strict=True):
            yield JsonRow(text, _key_text(one) if is_there else None)


def _status_column(table: pa.Table, key: Sequence[str]) -> pa.ChunkedArray | None:
    """The status of early results. None without such a column, or if it is a part of the key."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if name.lower() == STATUS_COLUMN and name not in key and is_text:
            return column
    return None


def key_columns(names: Sequence[str], key: Sequence[str] | None) -> list[str]:
    """The columns of the idempotency key. Raises UNKNOWN_COLUMN for one that the rows lack."""
    if key is None:
        return [_DEFAULT_KEY] if _DEFAULT_KEY in names else []
    for name in key:
        if name not in names:
            raise QueryError("UNKNOWN_COLUMN", f"key: the rows have no column '{name}'", hint=did_you_mean(name, names))
    return list(key)


def _key_text(values: str) -> str:
    """The values of a key as the header carries them: joined by `:` where that is short and clear, else as a hash."""
    # Numbers stay texts: a float would merge decimals that differ in a late digit.
    read = json.loads(values, parse_float=str, parse_int=str)
    texts = ["" if value is None else str(value) for value in read.values()]
    is_clear = all(_PLAIN.fullmatch(text) for text in texts) and len(values) <= _LONGEST_PLAIN_KEY
    return ":".join(texts) if is_clear else _hash(values)


def _not_unique(key: str) -> MatchError:
    return MatchError(
        "WEBHOOK_KEY_NOT_UNIQUE",
        f"two different rows have the key {key!r}, so the receiver would drop the second one",
        hint='name the columns that identify a row: .option("key", "match_id,ts")',
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


class WebhookRequests:
    """Sends the rows of one task."""

    def __init__(
        self,
        options: WebhookOptions,
        target: Target,
        task: SinkTask,
        *,
        send: Send = send_over_network,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> None:
        self._options, self._target, self._task = options, target, task
        self._send, self._around = send, around
        self._retries = Retries(options.attempts, options.first_wait_seconds, options.longest_wait_seconds)
        self._sent_bodies: Counter[str] = Counter()
        self._row_of_key: dict[str, str] = {}
        """For requests with one row: a digest of the row that was sent under a key."""

    def deliver(self, rows: Iterable[JsonRow]) -> Iterator[str]:
        """Sends all rows. Gives a line of JSON for each row that the receiver didn't take, if the options name a folder
        for such lines. Otherwise it raises WEBHOOK_FAILED."""
        waiting = iter(rows)
        while together := list(islice(waiting, self._options.rows_per_request)):
            body = self._body(together)
            key = self._idempotency_key(together, body)
            outcome = send_with_retries(lambda: self._post(body, key), self._retries, self._around)  # noqa: B023 - at once
            if outcome.reason is None:
                continue
            if self._options.dead_letters is None:
                raise self._failure(outcome)
            yield from self._dead_letters(together, key, outcome)

    def _body(self, rows: Sequence[JsonRow]) -> str:
        texts = [row.text for row in rows]
        match self._options.body:
            case "object":
                return texts[0]
            case "lines":
                return "".join(f"{text}\n" for text in texts)
            case _:
                return f"[{','.join(texts)}]"

    def _idempotency_key(self, rows: Sequence[JsonRow], body: str) -> str:
        """One row: its own key. Several rows that all have keys: made of these and of the body. Otherwise: made of the
        place in the stream and of the body. A replay may order its rows otherwise, and a key for other rows than before
        would make a receiver drop them."""
        keys, digest = [row.key for row in rows], _hash(body)
        if len(keys) == 1 and keys[0] is not None:
            if self._row_of_key.setdefault(keys[0], digest) != digest:
                raise _not_unique(keys[0])
            return keys[0]
        if all(key is not None for key in keys):
            return _hash(*(key or "" for key in keys), digest)
        task = self._task
        self._sent_bodies[digest] += 1
        place = (task.job, str(task.epoch), str(task.partition), str(self._sent_bodies[digest]))
        return _hash(*place, digest)

    def _post(self, body: str, key: str) -> Reply:
        headers = {**self._target.headers, IDEMPOTENCY_KEY: key}
        request = urllib.request.Request(self._target.url, body.encode(), headers, method="POST")
        return self._send(request, self._options.timeout_seconds)

    def _failure(self, outcome: Outcome) -> MatchError:
        times = "once" if outcome.attempts == 1 else f"{outcome.attempts} times"
        return MatchError(
            "WEBHOOK_FAILED",
            f"the receiver at {self._target.host} was asked {times} and {outcome.reason}",
            hint="start the stream again when it works; with dead_letters=FOLDER such rows are set aside instead",
        )

    def _dead_letters(self, rows: Sequence[JsonRow], key: str, outcome: Outcome) -> Iterator[str]:
        at = self._around.now().isoformat().replace("+00:00", "Z")
        about = {
            "reason": outcome.reason,
            "status": outcome.status,
            "attempts": outcome.attempts,
            "at": at,
            "receiver": self._target.host,
            "idempotency_key": key,
            "job": self._task.job,
            "epoch": self._task.epoch,
            "partition": self._task.partition,
        }
        start = json.dumps(about, ensure_ascii=False)[:-1]
        yield from (f'{start}, "row": {row.text}}}' for row in rows)
