"""Pairs of matches -> result rows: the columns of both, and when the correlation starts and ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.matching.growths import ProbeMatches
from ostinato.planning.correlation_plan import Clock
from ostinato.predicates import types as t
from ostinato.query.correlation import CORRELATION_END, CORRELATION_START
from ostinato.runtimes.local import one_array
from ostinato.runtimes.task.columns import DAY_US
from ostinato.runtimes.task.correlation_sides import WindowSide
from ostinato.runtimes.task.correlation_state import Remembered
from ostinato.runtimes.task.correlation_task import CorrelationTask, SideTask
from ostinato.runtimes.task.stream_batches import joined, split
from ostinato.techniques.live_archive.found import NOT_FOUND_HERE, Growths, Outcome
from ostinato.techniques.live_archive.ordering import ResultTimes, merged_order
from ostinato.techniques.live_archive.sides import Ints

KEY, START, END, PLACE = "__ost_key", "__ost_start", "__ost_end", "__ost_place"
LIVE, ARCHIVE = "live", "archive"


def output_fields(task: CorrelationTask) -> pa.Schema:
    """The columns of results: the correlation's own, then those of the live and of the archive match."""
    kind = task.live.clock.type
    own = [pa.field(CORRELATION_START, kind), pa.field(CORRELATION_END, kind)]
    return pa.schema([*own, *_fields(task.live, LIVE), *_fields(task.archive, ARCHIVE)])


def _fields(side: SideTask, prefix: str) -> list[pa.Field]:
    plan = side.typed.plan
    shown = [side.column_type(name) for name in plan.shown]
    return [
        pa.field(f"{prefix}.{name}", kind)
        for name, kind in zip(side.output_names, [*shown, *side.typed.slot_types], strict=True)
    ]


def moments(values: Ints, clock: Clock) -> pa.Array:
    """Times as the clock's type has them."""
    if clock.type == t.DATE:
        return pa.array(values // DAY_US).cast(pa.int32()).cast(clock.type)
    return pa.array(values).cast(clock.type)


class ResultWriter:
    """Writes the results of one correlation's steps."""

    def __init__(self, task: CorrelationTask) -> None:
        self.task = task
        self.schema = output_fields(task)
        own = [pa.field(name, pa.int64()) for name in (KEY, START, END)]
        self.held_schema = pa.schema([*own, *self.schema])
        cached = [pa.field(name, pa.int64()) for name in (KEY, PLACE, START, END)]
        self.cache_schema = pa.schema([*cached, *_fields(task.archive, ARCHIVE)])
        self._equal_keys = [
            (name, other)
            for name, other in task.keys
            if task.live.column_type(name) == task.archive.column_type(other)
            and not pa.types.is_floating(task.live.column_type(name))  # 0.0 equals -0.0, and is another value
        ]

    def rows(self, live: WindowSide, outcome: Outcome, number: Ints | None, before: Remembered) -> pa.RecordBatch:
        """The pairs as rows of `held_schema`, by key, start and end."""
        assert outcome.live_found is not None
        order = outcome.pair_order()
        live_of_pair, growth_of_pair = outcome.live_of_pair[order], outcome.growth_of_pair[order]
        places, of_pair = _distinct(live_of_pair, len(outcome.live.key))
        found = outcome.live.found[places]
        values = live.values(outcome.live_found, found, None if number is None else number[found])
        taken = pa.array(of_pair)
        of_live = {name: values.arrays[name].take(taken) for name in self.task.live.output_names}
        equal = {other: of_live[name] for name, other in self._equal_keys}
        others = [name for name in self.task.archive.output_names if name not in equal]
        of_archive = equal | self.archive_values(outcome, growth_of_pair, before, others)
        start, end = outcome.growths.start[growth_of_pair], outcome.live.end[live_of_pair]
        own = [pa.array(outcome.live.key[live_of_pair]), pa.array(start), pa.array(end)]
        own += [moments(start, self.task.live.clock), moments(end, self.task.live.clock)]
        in_order = [of_archive[name] for name in self.task.archive.output_names]
        return _typed([*own, *of_live.values(), *in_order], self.held_schema)

    def archive_values(
        self, outcome: Outcome, chosen: Ints, before: Remembered, names: Sequence[str]
    ) -> dict[str, pa.Array]:
        """Some of the archive's output columns for these growths of the step."""
        assert isinstance(outcome.archive, WindowSide)
        return self.growth_values(outcome.growths, outcome.archive_found, outcome.archive, chosen, before, names)

    def growth_values(
        self,
        growths: Growths,
        found: ProbeMatches | None,
        side: WindowSide,
        chosen: Ints,
        before: Remembered,
        names: Sequence[str],
    ) -> dict[str, pa.Array]:
        """Each is computed once, or taken from the cache."""
        places, of_chosen = _distinct(chosen, len(growths.key))
        growths = growths.chosen(places)
        is_new = growths.found != NOT_FOUND_HERE
        parts: list[Sequence[pa.Array]] = []
        if is_new.any() or before.cache is None:
            assert found is not None
            values = side.values(found, growths.found[is_new])
            parts.append([values.arrays[name] for name in names])
        if not is_new.all():
            assert before.cache is not None
            stored = pa.array(growths.stored[~is_new])
            parts.append([before.cache.column(f"{ARCHIVE}.{name}").take(stored) for name in names])
        place = np.empty(len(places), np.int64)
        place[np.concatenate([np.flatnonzero(is_new), np.flatnonzero(~is_new)])] = np.arange(len(places))
        taken = pa.array(place[of_chosen])
        columns = [one_array(pa.chunked_array(pieces)).take(taken) for pieces in zip(*parts, strict=True)]
        return dict(zip(names, columns, strict=True))

    def cache(self, outcome: Outcome, kept: Ints, before: Remembered) -> pa.RecordBatch | None:
        """Growths that later steps may need, with their values."""
        if not len(kept):
            return None
        growths = outcome.growths.chosen(kept)
        numbers = [pa.array(column) for column in (growths.key, growths.place, growths.start, growths.end)]
        values = self.archive_values(outcome, kept, before, self.task.archive.output_names)
        return _typed([*numbers, *values.values()], self.cache_schema)

    def split(
        self, held: pa.RecordBatch | None, new: pa.RecordBatch | None, first_possible: Ints | None
    ) -> tuple[pa.Table, pa.RecordBatch | None]:
        """What can be given and what waits, both by key, start and end as what comes in. None: nothing has to wait."""
        rows = joined([held, new])
        if rows is None:
            return self.schema.empty_table(), None
        if held is not None and new is not None:
            rows = rows.take(pa.array(merged_order(_times_of(held), _times_of(new))))
        waits = None
        if first_possible is not None:
            goes = np.asarray(rows.column(START)) <= first_possible[np.asarray(rows.column(KEY))]
            rows, waits = split(rows, goes)
            if rows is None:
                return self.schema.empty_table(), waits
        return pa.Table.from_arrays(rows.columns[3:], schema=self.schema), waits


def _times_of(results: pa.RecordBatch) -> ResultTimes:
    return ResultTimes(*(np.asarray(results.column(name)) for name in (KEY, START, END)))


def cached_starts(cache: pa.RecordBatch) -> int:
    """How many archive starts the cache knows matches of; they lie together."""
    key, place = np.asarray(cache.column(KEY)), np.asarray(cache.column(PLACE))
    return 1 + int(((key[1:] != key[:-1]) | (place[1:] != place[:-1])).sum())


def _distinct(values: Ints, count: int) -> tuple[Ints, Ints]:
    """The different values below `count`, ascending, and the place of each value among them."""
    marked = np.zeros(count, np.bool_)
    marked[values] = True
    return np.flatnonzero(marked), (np.cumsum(marked) - 1)[values]


def _typed(arrays: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    fitting = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(arrays, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(fitting, schema=schema)
