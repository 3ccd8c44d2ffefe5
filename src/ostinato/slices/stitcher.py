"""The edges of all slices -> the matches that no slice could decide alone, and offsets for match numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.plan.slicing import slicing_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.clause_worker import Worker
from ostinato.errors import MatchError
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.batches import OutputRows, batch_of, one_array
from ostinato.rows.ordering import Ordered
from ostinato.slices.cutting import one_span
from ostinato.slices.seams import SeamRegion, SliceRows, regions
from ostinato.slices.slice_worker import SliceEdge


@dataclass(frozen=True, slots=True)
class Stitched:
    """Output rows of one seam. `numbers_before[i]`: number of matches of the key before those of slice i."""

    rows: OutputRows
    numbers_before: dict[int, int]


class Stitcher:
    """Decides the starts that slices left undecided, seam by seam."""

    def __init__(self, typed: TypedPlan, conditions: Sequence[tuple[str, int]]) -> None:
        self.worker = Worker(typed)
        self.conditions = conditions
        margins = slicing_of(typed.plan).margins
        self.before, self.after = max(margins.before, 1), margins.after

    def run(self, edges: Sequence[SliceEdge]) -> Iterator[Stitched]:
        """`edges` of all slices, those of one slice in the order of its rows."""
        edges = sorted(edges, key=lambda edge: edge.key_slice.slice)
        self._check_order(edges)
        for of_key in self._by_key(edges):
            yield from self._key(of_key)

    def _check_order(self, edges: Sequence[SliceEdge]) -> None:
        """Raises if the rows of consecutive slices overlap: they would be matched in a wrong order."""
        if not edges:
            return
        ends = pa.concat_tables([rows for edge in edges for rows in (_first(edge), _last(edge))])
        ordered = self.worker.order(batch_of(ends, self.conditions), sorts_keys=True)
        if ordered.rows is not None and (np.diff(ordered.rows) < 0).any():
            raise MatchError("SLICES_OUT_OF_ORDER", "rows of neighbouring slices overlap in their order")

    def _by_key(self, edges: Sequence[SliceEdge]) -> Iterator[list[SliceEdge]]:
        """Groups consecutive edges by key."""
        if not edges:
            return
        firsts = pa.concat_tables([_first(edge) for edge in edges])
        keys = [one_array(firsts.column(name)) for name in self.worker.bound.partition_by]
        changes = np.flatnonzero(np.diff(group_numbers(len(edges), keys))) + 1
        # A slice that begins its key doesn't continue the entry before it: that ended the first key of the same slice.
        starts = sorted({0, *changes.tolist(), *(i for i, edge in enumerate(edges) if edge.key_slice.begins)})
        for first, end in zip(starts, [*starts[1:], len(edges)], strict=True):
            yield list(edges[first:end])

    def _key(self, edges: Sequence[SliceEdge]) -> Iterator[Stitched]:
        key_slices = [edge.key_slice for edge in edges]
        number = key_slices[0].match_count if key_slices[0].begins else 0
        for region in regions(key_slices, self.before, self.after):
            rows, number = self._region(edges, region, number)
            before: dict[int, int] = {}
            if region.taken_over_by is not None:
                key_slice = key_slices[region.taken_over_by]
                before[key_slice.slice] = number
                number += key_slice.match_count
            yield Stitched(rows, before)

    def _region(self, edges: Sequence[SliceEdge], region: SeamRegion, number: int) -> tuple[OutputRows, int]:
        table = pa.concat_tables([_rows(edges[piece.key_slice], piece) for piece in region.pieces])
        batch = batch_of(table, self.conditions)
        window = self.worker.window(batch, Ordered(None, np.array([0, len(table)], np.int64)))
        # No match leaves the region. The engine for shifts only counts rows and would wait for more. The other search
        # must know that the key goes on, because of `$`.
        is_open = region.is_open and self.worker.plan.sequence is None
        spans = one_span(region.start, region.stop, region.end, is_open=is_open, number=number)
        searched = self.worker.search(window, spans)
        assert searched.next_start[0] >= region.stop, "a seam ended before its runs did"
        settled = np.zeros(len(table), np.bool_)
        settled[region.start : region.stop] = True
        return self.worker.output(searched.matches, window, settled), int(searched.number[0])


def _rows(edge: SliceEdge, piece: SliceRows) -> pa.Table:
    if piece.end <= len(edge.head):
        return edge.head.slice(piece.first, piece.end - piece.first)
    return edge.tail.slice(piece.first - (edge.key_slice.rows - len(edge.tail)), piece.end - piece.first)


def _first(edge: SliceEdge) -> pa.Table:
    return (edge.head if len(edge.head) else edge.tail).slice(0, 1)


def _last(edge: SliceEdge) -> pa.Table:
    rows = edge.tail if len(edge.tail) else edge.head
    return rows.slice(len(rows) - 1)
