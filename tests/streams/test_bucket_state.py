"""States as bytes. Version 3 of the format stays readable. Other formats and states of other queries are refused."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

from ostinato.clause.stream.appending_stream import stream_worker
from ostinato.clause.stream.clause_stream import EMPTY, BucketState, StreamWorker
from ostinato.errors import MatchError
from ostinato.streams.stream_settings import StreamSettings
from ostinato.testing import StreamTester

BLOB = Path(__file__).parent / "stream_state_v3.bin"
"""A bucket after a match of one key and A B B behind it, the last B in a segment of its own; A of another key; C waits.

As JSON with its bytes in base 64. Written by version 3 of the format and never again: a version that can't read it
needs a new number, or a way to.
"""
FINGERPRINT = "0b626ffac9f4dcec257c252ee7dd8fdc9b6c02e087078281b2350e1de99237be"
"""Fingerprint of the query that wrote it."""
CONDITIONS = [("__ost_bits0", 0), ("__ost_bits1", 0)]
"""The places of its conditions: a tester gave each a column of its own then."""
CLAUSE = """
    PARTITION BY k ORDER BY at MEASURES count(*) AS n, MATCH_NUMBER() AS number
    PATTERN (A B+) DEFINE A AS kind = 'A', B AS kind = 'B'"""
COLUMNS = {"k": "string", "at": "timestamp", "kind": "string"}


def stream(clause: str = CLAUSE) -> StreamTester:
    return StreamTester(clause, COLUMNS)


def stored() -> BucketState:
    fields = json.loads(BLOB.read_text(encoding="utf-8"))
    return BucketState(
        b64decode(fields["header"]),
        tuple(map(b64decode, fields["open_rows"])),
        tuple(map(b64decode, fields["waiting"])),
    )


def worker(late: Literal["drop", "show"] = "drop") -> StreamWorker:
    local = stream().worker
    return stream_worker(local.typed, CONDITIONS, StreamSettings(late), FINGERPRINT)


def test_state_of_version_3_is_read() -> None:
    step = worker().advance(stored(), None, 0, finished=True)
    rows = sorted(zip(*(step.results.arrays[name].to_pylist() for name in ("k", "__ost_m0", "__ost_m1")), strict=True))
    assert rows == [("p", 3, 2)]
    assert step.state == EMPTY


def test_state_of_another_version_is_refused() -> None:
    state = stored()
    written = state.header[:4] + (99).to_bytes(2, "little") + state.header[6:]
    with pytest.raises(MatchError, match="has format 99") as caught:
        worker().advance(replace(state, header=written), None, 0)
    assert caught.value.code == "STATE_FORMAT"


@pytest.mark.parametrize("header", [b"?", b"\xff\xff\xff\xff\x00\x00\x00\x00", bytes(64)])
def test_damaged_state_is_refused(header: bytes) -> None:
    with pytest.raises(MatchError) as caught:
        worker().advance(BucketState(header), None, 0)
    assert caught.value.code == "STATE_FORMAT"


def test_state_of_another_query_is_refused() -> None:
    other = stream(CLAUSE.replace("B+", "B*")).worker
    with pytest.raises(MatchError, match="its text, types, settings") as caught:
        other.advance(stored(), None, 0)
    assert caught.value.code == "STATE_OF_OTHER_QUERY"


def test_rows_of_other_types_are_refused() -> None:
    arrived = pa.table({"k": [1], "at": pa.array([9], pa.timestamp("us", "UTC")), "__ost_bits0": [1]})
    with pytest.raises(MatchError, match="columns of its input") as caught:
        worker().advance(stored(), arrived, 0)
    assert caught.value.code == "STATE_OF_OTHER_QUERY"


def test_the_option_late_may_change() -> None:
    changed = worker(late="show")
    assert changed.advance(stored(), None, 0, finished=True).counts.matches == 1
