"""A bucket's state in Spark's variables: equal after a round trip, with few calls, and lists read on demand only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("pyspark")

from ostinato.spark.streams.bucket_store import (
    MOST_OPEN_BYTES_BESIDE_HEADER,
    MOST_WAITING_BYTES_BESIDE_HEADER,
    BucketStore,
)
from ostinato.streams.bucket_state import BucketState
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_segments import with_segments

LARGE = bytes(MOST_WAITING_BYTES_BESIDE_HEADER + 1)
MANY = bytes(MOST_OPEN_BYTES_BESIDE_HEADER + 1)


class Variable:
    """Stands for a value or a list in Spark's store, and counts the calls."""

    def __init__(self, name: str, calls: Counter[str]) -> None:
        self.name, self.calls, self.stored = name, calls, None

    def _called(self, method: str) -> None:
        self.calls[f"{self.name}.{method}"] += 1

    def update(self, value: Any) -> None:
        self._called("update")
        self.stored = value

    put = update

    def appendList(self, values: list[Any]) -> None:
        self._called("appendList")
        self.stored = [*(self.stored or []), *values]

    def clear(self) -> None:
        self._called("clear")
        self.stored = None


class Value(Variable):
    def get(self) -> Any:
        self._called("get")
        return self.stored


class Segments(Variable):
    def get(self) -> Iterator[Any]:
        self._called("get")
        return iter(self.stored or ())


class Handle:
    """Stands for Spark's handle with one bucket selected."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.variables: dict[str, Variable] = {}
        self.timers: set[int] = set()

    def getValueState(self, name: str, schema: object) -> Variable:
        return self.variables.setdefault(name, Value(name, self.calls))

    def getListState(self, name: str, schema: object) -> Variable:
        return self.variables.setdefault(name, Segments(name, self.calls))

    def registerTimer(self, at_ms: int) -> None:
        self.calls["registerTimer"] += 1
        self.timers.add(at_ms)

    def deleteTimer(self, at_ms: int) -> None:
        self.calls["deleteTimer"] += 1
        self.timers.remove(at_ms)


class Bucket:
    """One bucket over several batches."""

    def __init__(self) -> None:
        self.handle = Handle()

    def step(
        self,
        header: bytes,
        open_rows: Sequence[bytes] | None = None,
        waiting: Sequence[bytes] = (),
        *,
        appended: tuple[bytes, ...] = (),
        wake_at_us: int | None = None,
        timer_fired: bool = False,
    ) -> Counter[str]:
        """The calls of a batch. `open_rows` None: those of the state, without reading them, and the appended ones."""
        self.handle.calls.clear()
        store = BucketStore(self.handle, has_timers=True)  # type: ignore[arg-type]
        before = store.load("{}")
        rows = with_segments(before.state.open_rows, appended) if open_rows is None else open_rows
        step = Step(None, BucketState(header, rows, waiting), wake_at_us, Counts())
        store.store(before, step, timer_fired=timer_fired)
        return Counter(self.handle.calls)

    def state(self) -> BucketState:
        before = BucketStore(self.handle, has_timers=True).load("{}")  # type: ignore[arg-type]
        state = before.state
        assert before.state_bytes == state.size
        return BucketState(state.header, tuple(state.open_rows), tuple(state.waiting))


def test_a_new_bucket() -> None:
    bucket = Bucket()
    assert bucket.step(b"h", [b"rows"], [b"wait"]) == {
        "bucket.get": 1,
        "definition.update": 1,
        "bucket.update": 1,
    }
    assert bucket.state() == BucketState(b"h", (b"rows",), (b"wait",))


def test_few_rows_need_no_call_of_their_own() -> None:
    bucket = Bucket()
    bucket.step(b"h", [b"first"], [b"wait"])
    assert bucket.step(b"i", waiting=[b"other", b"more"], appended=(b"second",)) == {
        "bucket.get": 1,
        "bucket.update": 1,
    }
    assert bucket.state() == BucketState(b"i", (b"first", b"second"), (b"other", b"more"))


def test_rows_that_a_step_does_not_need_are_not_read() -> None:
    bucket = Bucket()
    assert bucket.step(b"h", [MANY])["open_rows.update"] == 1
    assert bucket.step(b"i") == {"bucket.get": 1, "bucket.update": 1}
    assert bucket.step(b"j", appended=(b"second",)) == {"bucket.get": 1, "open_rows.appendList": 1, "bucket.update": 1}
    assert bucket.state() == BucketState(b"j", (MANY, b"second"), ())


def test_rows_that_become_many_move_to_a_list() -> None:
    bucket = Bucket()
    bucket.step(b"h", [b"first"])
    assert bucket.step(b"i", appended=(MANY,))["open_rows.update"] == 1
    assert bucket.state() == BucketState(b"i", (b"first", MANY), ())
    assert bucket.step(b"j", [b"few"])["open_rows.clear"] == 1
    assert bucket.step(b"k", appended=(b"more",)) == {"bucket.get": 1, "bucket.update": 1}
    assert bucket.state() == BucketState(b"k", (b"few", b"more"), ())


def test_an_unchanged_state_is_not_written() -> None:
    bucket = Bucket()
    bucket.step(b"h", [b"first"], [b"wait"], wake_at_us=5_000)
    assert bucket.step(b"h", waiting=[b"wait"], wake_at_us=5_000) == {"bucket.get": 1}


def test_rows_are_replaced_and_removed() -> None:
    bucket = Bucket()
    bucket.step(b"h", [MANY, b"second"])
    assert bucket.step(b"h", [MANY + b"joined"])["open_rows.update"] == 1
    assert bucket.state().open_rows == (MANY + b"joined",)
    assert bucket.step(b"h", [])["open_rows.clear"] == 1
    assert bucket.state().open_rows == ()


def test_many_waiting_rows_are_in_a_list() -> None:
    bucket = Bucket()
    assert bucket.step(b"h", (), [LARGE])["waiting.update"] == 1
    assert bucket.state() == BucketState(b"h", (), (LARGE,))
    assert bucket.step(b"h", (), [LARGE, b"more"])["waiting.update"] == 1
    assert bucket.state() == BucketState(b"h", (), (LARGE, b"more"))
    assert bucket.step(b"h", (), [b"small"])["waiting.clear"] == 1
    assert bucket.state() == BucketState(b"h", (), (b"small",))
    assert bucket.step(b"h", (), [LARGE])["waiting.update"] == 1


def test_timers_are_set_when_they_change() -> None:
    bucket = Bucket()
    assert bucket.step(b"a", wake_at_us=5_001)["registerTimer"] == 1
    assert bucket.handle.timers == {6}
    assert bucket.step(b"b", wake_at_us=5_500)["registerTimer"] == 0
    calls = bucket.step(b"c", wake_at_us=9_000)
    assert (calls["deleteTimer"], calls["registerTimer"]) == (1, 1)
    bucket.handle.timers.clear()  # Spark deletes a timer that fired
    calls = bucket.step(b"d", wake_at_us=12_000, timer_fired=True)
    assert (calls["deleteTimer"], calls["registerTimer"]) == (0, 1)
    assert bucket.step(b"e")["deleteTimer"] == 1
    assert bucket.handle.timers == set()


def test_the_definition_is_written_once() -> None:
    bucket = Bucket()
    bucket.step(b"h")
    assert bucket.step(b"i")["definition.update"] == 0
    store = BucketStore(bucket.handle, has_timers=True)  # type: ignore[arg-type]
    assert store.stored_definition() == "{}"
