"""Damaged states of every system raise STATE_FORMAT. They never crash, and never raise errors of other libraries.

The checksum finds every change. Some tests correct the checksum of a damaged state. Then these rules hold:

- A wrong structure is refused: lengths, offsets and counts that don't agree, indices of rows, keys, nodes or windows
  that don't exist, times that fall, and numbers in a form that no kernel writes.
- A wrong value is accepted: a changed price, key, sum, or time within its limits. The answer may differ, or may be one
  of our errors about such values (an overflow, a time out of order).
- A state that names another query is refused as the state of that query.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.streams.stored_states import NUMBERS, SYSTEMS, Blob, Stored, damages, stored

import ostinato as ost
from ostinato.correlations.task.correlation_state import Marks, read_state, state_bytes
from ostinato.errors import MatchError
from ostinato.streams.bucket_state import STORED_COLUMNS
from ostinato.streams.record_batches import to_bytes
from ostinato.streams.stored_state import FORMAT_VERSION, Section, read_batch, seal, unseal
from ostinato.workloads.matcher.matcher_state import MatcherState

DAMAGED_BODIES = 100
"""Damaged copies of each section of a state."""
UNMENDED_BODIES = 20
OF_OTHERS = frozenset({"STATE_OF_OTHER_QUERY", "SUMMARY_STATE"})
OF_VALUES = frozenset({"ARITHMETIC_OVERFLOW", "TIME_OUT_OF_RANGE", "SUMMARY_TIME_ORDER", "SUMMARY_VALUE"})


def outcome(state: Stored, blobs: list[bytes]) -> str:
    """The code of the error, or "right", or "another answer"."""
    try:
        return "right" if state.resume(blobs) == state.answer else "another answer"
    except MatchError as error:
        assert error.hint or error.code != "STATE_FORMAT"
        return error.code


def with_bodies(state: Stored, count: int, *, mended: bool) -> Iterator[list[bytes]]:
    for number, blob in enumerate(state.blobs):
        for body in damages(blob.body, count, seed=number):
            blobs = [other.data for other in state.blobs]
            blobs[number] = blob.with_body(body, mended=mended)
            yield blobs


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_undamaged_state_resumes(system: str) -> None:
    state = stored(system)
    assert outcome(state, [blob.data for blob in state.blobs]) == "right"


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_checksum_finds_every_change(system: str) -> None:
    state = stored(system)
    assert {outcome(state, blobs) for blobs in with_bodies(state, UNMENDED_BODIES, mended=False)} == {"STATE_FORMAT"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_damage_under_a_mended_checksum_never_crashes(system: str) -> None:
    state = stored(system)
    outcomes = [outcome(state, blobs) for blobs in with_bodies(state, DAMAGED_BODIES, mended=True)]
    assert set(outcomes) <= {"STATE_FORMAT", "right", "another answer", *OF_OTHERS, *OF_VALUES}
    assert outcomes.count("STATE_FORMAT") > len(outcomes) // 3


@pytest.mark.parametrize("system", SYSTEMS)
def test_swapped_sections_are_refused(system: str) -> None:
    state = stored(system)
    first, *others = state.blobs
    for other in others:
        if other.section != first.section:
            blobs = [
                first.data if blob is other else other.data if blob is first else blob.data for blob in state.blobs
            ]
            assert outcome(state, blobs) == "STATE_FORMAT"
            bodies = {first: first.with_body(other.body, mended=True), other: other.with_body(first.body, mended=True)}
            assert outcome(state, [bodies.get(blob, blob.data) for blob in state.blobs]) in {"STATE_FORMAT", *OF_OTHERS}


# --- the header of all states -----------------------------------------------------------------------------------------


def test_other_versions_sections_and_owners_are_refused() -> None:
    sealed = seal(b"body", Section.BUCKET, salt=7)
    assert unseal(sealed, Section.BUCKET, "it", salt=7).to_pybytes() == b"body"
    other_version = sealed[:4] + struct.pack("<H", FORMAT_VERSION + 1) + sealed[6:]
    with pytest.raises(MatchError, match=rf"STATE_FORMAT: it has format {FORMAT_VERSION + 1}"):
        unseal(other_version, Section.BUCKET, "it", salt=7)
    for data, section, salt in [
        (b"", Section.BUCKET, 7),
        (sealed[:-1], Section.BUCKET, 7),
        (b"\xff" + sealed[1:], Section.BUCKET, 7),
        (sealed, Section.OPEN_ROWS, 7),
        (sealed, Section.BUCKET, 8),
    ]:
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            unseal(data, section, "it", salt=salt)


# --- structure, field by field ----------------------------------------------------------------------------------------


def refused(state: Stored, body: bytes, number: int = 0) -> bool:
    blobs = [blob.data for blob in state.blobs]
    blobs[number] = state.blobs[number].with_body(body, mended=True)
    return outcome(state, blobs) == "STATE_FORMAT"


@pytest.mark.parametrize("field", ["rows", "start", "number", "given", "covered"])
def test_numbers_of_keys_out_of_range_are_refused(field: str) -> None:
    state = stored("clause")
    header = read_batch(state.blobs[0].body, "the header")
    for value in (-1, (1 << 63) - 1):
        columns = {name: header.column(name).to_numpy().copy() for name in header.schema.names}
        columns[field] = columns.get(field, np.zeros(header.num_rows, np.int64)).astype(np.int64)
        columns[field][-1] = value
        damaged = pa.record_batch(columns).replace_schema_metadata(header.schema.metadata)
        assert refused(state, to_bytes(damaged)), (field, value)


def matcher_state(blob: Blob) -> tuple[MatcherState, bytes]:
    """The partial matches of an engine, and its statistics."""
    matcher, _ = struct.unpack_from("<QQ", blob.body)
    return MatcherState.from_bytes(blob.body[16 : 16 + matcher]), blob.body[16 + matcher :]


def engine_body(restored: MatcherState, learnt: bytes) -> bytes:
    matcher = restored.to_bytes()
    return struct.pack("<QQ", len(matcher), len(learnt)) + matcher + learnt


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("column", range(7))
def test_indices_of_partial_matches_out_of_range_are_refused(column: int, number: int) -> None:
    """Damages a partial match that extends another one. A link of -1 means no parent, which contradicts its length."""
    state = stored("engine")
    restored, learnt = matcher_state(state.blobs[0])
    values = restored.ancestry.copy()
    last = np.flatnonzero(values[:, 0] >= 0)[-1]
    if values[last, column] != number:
        values[last, column] = number
        assert refused(state, engine_body(dataclasses.replace(restored, ancestry=values), learnt)), (column, number)


@pytest.mark.parametrize("number", [-1, (1 << 63) - 1])
@pytest.mark.parametrize("field", ["counters", "sample_counts", "rows_needed"])
def test_counts_of_partial_matches_out_of_range_are_refused(field: str, number: int) -> None:
    state = stored("engine")
    restored, learnt = matcher_state(state.blobs[0])
    values = getattr(restored, field).copy()
    values[0] = number
    assert refused(state, engine_body(dataclasses.replace(restored, **{field: values}), learnt))


MARKS = [name for name in Marks._fields if name not in ("base", "missing_since", "missing_until", "search_from")]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_of_a_correlation_out_of_range_are_refused(mark: str) -> None:
    state = stored("correlation")
    batch = read_batch(state.blobs[0].body, "the state")
    query = batch.schema.metadata[b"ostinato.query"].decode()
    restored = read_state(state.blobs[0].data, query)
    for value in (-1, (1 << 63) - 1):
        values = getattr(restored.marks, mark).copy()
        values[0] = value
        damaged = dataclasses.replace(restored, marks=restored.marks._replace(**{mark: values}))
        assert refused(state, state_bytes(damaged, query)[16:]), (mark, value)


@pytest.mark.parametrize("value", [-1, 1 << 40])
def test_no_number_of_a_summary_crashes(value: int) -> None:
    """Each word of a summary's bytes in turn, as in the attack that found this."""
    state = stored("summary")
    body = state.blobs[0].body
    outcomes = set()
    for at in range(0, len(body) - 8, 8):
        damaged = body[:at] + struct.pack("<q", value) + body[at + 8 :]
        outcomes.add(outcome(state, [state.blobs[0].with_body(damaged, mended=True)]))
    assert outcomes <= {"STATE_FORMAT", "right", "another answer", *OF_OTHERS, *OF_VALUES}


@pytest.mark.parametrize("keyed_types", [None, ("B",)])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_infinite_value_to_sum_is_refused(value: float, keyed_types: tuple[str, ...] | None) -> None:
    """Tests the rows of keys, and the summary of events that all keys share."""
    events = pa.table({"k": [1, 1], "at": [1, 2], "kind": ["A", "B"], "x": [-0.375, -1.25]})
    options = {"type": "kind", "time": "at", "keys": "k", "within": 9, "size": 4}
    summary = ost.summary("A B", aggregate="SUM(x)", **options, event_types=ost.EventTypes(keyed=keyed_types))
    blob = Blob(summary.feed(events).to_bytes(), Section.SUMMARY)
    for number in (-0.375, -1.25):
        words = blob.body.split(struct.pack("<d", number))
        assert len(words) > 1
        damaged = struct.pack("<d", value).join(words)
        with pytest.raises(MatchError) as caught:
            summary.restore(blob.with_body(damaged, mended=True)).ask(1)
        assert caught.value.code == "STATE_FORMAT"
        assert "a value is out of range" in caught.value.message


@pytest.mark.parametrize("data", [None, 5, "text"])
def test_a_summary_is_restored_from_bytes(data: Any) -> None:
    summary = ost.summary("A B", type="kind", time="at", within=9, size=4)
    with pytest.raises(ost.QueryError) as caught:
        summary.restore(data)
    assert caught.value.code == "INVALID_OPTION"


def test_all_fields_of_a_key_are_known() -> None:
    """A new field needs a range: `bucket_state._keys`."""
    assert STORED_COLUMNS == ("rows", "start", "number", "given", "covered")


def test_errors_name_the_state_and_a_remedy() -> None:
    state = stored("clause")
    with pytest.raises(MatchError) as caught:
        state.resume([b"nonsense", *(blob.data for blob in state.blobs[1:])])
    shown = str(caught.value)
    assert shown.startswith("STATE_FORMAT: the header in the state of this stream can't be read")
    assert "hint: the checkpoint is damaged" in shown
