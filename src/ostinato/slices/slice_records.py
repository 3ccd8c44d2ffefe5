"""Edges of slices <-> bytes, to send them between tasks; and match numbers that continue over slices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.expressions.syntax import MatchNumber
from ostinato.slices.seams import KeySlice
from ostinato.slices.slice_worker import SliceEdge

_ROWS_PER_RECORD = 1 << 18
_HEAD, _TAIL = "head", "tail"


def edge_records(edges: Sequence[SliceEdge]) -> Iterator[bytes]:
    """The records of edges. An edge with many rows has several. Records may arrive in any order."""
    for index, edge in enumerate(edges):
        for side, table in ((_HEAD, edge.head), (_TAIL, edge.tail)):
            for first in range(0, len(table), _ROWS_PER_RECORD):
                header = {"index": index, "side": side, "first": first, "part": asdict(edge.key_slice)}
                yield _with_header(header, table.slice(first, _ROWS_PER_RECORD))


def edges_of(records: Iterable[bytes]) -> list[SliceEdge]:
    """The edges of all slices, ordered by slice and by position in it."""
    pieces: dict[tuple[int, int], list[tuple[str, int, pa.Table]]] = {}
    key_slices: dict[tuple[int, int], KeySlice] = {}
    for record in records:
        header, table = _without_header(record)
        key_slice = KeySlice(**header["part"])
        key = (key_slice.slice, header["index"])
        key_slices[key] = key_slice
        pieces.setdefault(key, []).append((header["side"], header["first"], table))
    return [
        SliceEdge(key_slices[key], *(_side(pieces[key], side) for side in (_HEAD, _TAIL))) for key in sorted(key_slices)
    ]


def _side(pieces: list[tuple[str, int, pa.Table]], side: str) -> pa.Table:
    tables = [table for _, _, table in sorted((p for p in pieces if p[0] == side), key=lambda piece: piece[1])]
    return pa.concat_tables(tables) if tables else pieces[0][2].slice(0, 0)


def _with_header(header: dict[str, object], table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata({"header": json.dumps(header)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _without_header(record: bytes) -> tuple[dict[str, Any], pa.Table]:
    with pa.ipc.open_stream(record) as reader:
        table = reader.read_all()
    return json.loads(table.schema.metadata[b"header"]), table.replace_schema_metadata(None)


def numbered_slots(plan: MatchPlan) -> list[str]:
    """The columns with MATCH_NUMBER()."""
    return [slot_name(i) for i, slot in enumerate(plan.slots) if isinstance(slot, MatchNumber)]


def renumbered(columns: Mapping[str, pa.Array], slots: Sequence[str], before: pa.Array) -> dict[str, pa.Array]:
    """Adds `before[i]` to the match numbers of row i."""
    return {name: pc.add(array, before) if name in slots else array for name, array in columns.items()}
