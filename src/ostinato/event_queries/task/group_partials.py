"""Partial results of groups <-> bytes. One task computes them by values of SAME; another task adds them up."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from ostinato.event_queries.plan.event_program import Numbers, QueryResults
from ostinato.kernels.numbers.python_numbers import Extended

_EXACT, _EXTENDED, _PLAIN = "exact", "extended", "plain"


def packed(results: QueryResults) -> bytes:
    """The results as an Arrow stream of one table."""
    columns: dict[str, pa.Array] = {"sequence": pa.array(results.sequence), "window": pa.array(results.window)}
    columns |= _columns("count", results.count)
    for i, (slot, present) in enumerate(zip(results.slots, results.present, strict=True)):
        columns |= _columns(f"slot{i}", slot)
        columns[f"present{i}"] = pa.array(present)
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(record: bytes, slots: int) -> QueryResults:
    """The inverse of `packed`."""
    table = pa.ipc.open_stream(record).read_all().combine_chunks()
    return QueryResults(
        sequence=_array(table, "sequence"),
        window=_array(table, "window"),
        count=_numbers(table, "count"),
        slots=tuple(_numbers(table, f"slot{i}") for i in range(slots)),
        present=tuple(_array(table, f"present{i}") for i in range(slots)),
    )


def _columns(name: str, numbers: Numbers) -> dict[str, pa.Array]:
    if isinstance(numbers, Extended):
        return {
            f"{name}.{_EXTENDED}": pa.array(numbers.mantissa),
            f"{name}.{_EXTENDED}.exponent": pa.array(numbers.exponent),
        }
    if numbers.dtype == object:
        words = [int(n).to_bytes(int(n).bit_length() // 8 + 1, "little", signed=True) for n in numbers]
        return {f"{name}.{_EXACT}": pa.array(words, pa.large_binary())}
    return {f"{name}.{_PLAIN}": pa.array(numbers)}


def _numbers(table: pa.Table, name: str) -> Numbers:
    names = table.column_names
    if f"{name}.{_EXTENDED}" in names:
        return Extended(_array(table, f"{name}.{_EXTENDED}"), _array(table, f"{name}.{_EXTENDED}.exponent"))
    if f"{name}.{_EXACT}" in names:
        words = table.column(f"{name}.{_EXACT}").to_pylist()
        exact = np.empty(len(words), object)
        exact[:] = [int.from_bytes(word, "little", signed=True) for word in words]
        return exact
    return cast(Numbers, _array(table, f"{name}.{_PLAIN}"))


def _array(table: pa.Table, name: str) -> Any:
    return table.column(name).to_numpy()
