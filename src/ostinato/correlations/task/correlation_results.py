"""Pairs of matches -> result rows: start and end of the correlation, then the columns of both matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.matching.growths import ProbeMatches
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START
from ostinato.correlations.strategies.joining import OrderedPairs, Pairs, by_start
from ostinato.correlations.strategies.result_order import ResultTimes, merged_order
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.step_matches import NOT_FOUND_HERE, Growths, StepOutcome
from ostinato.correlations.task.correlation_state import CorrelationState
from ostinato.correlations.task.correlation_task import CorrelationTask, SideTask
from ostinato.correlations.task.side_rows import WindowSide
from ostinato.rows.batches import one_array
from ostinato.rows.times import times_of
from ostinato.streams.record_batches import joined, split

KEY, START, END = "__ost_key", "__ost_start", "__ost_end"
LIVE, ARCHIVE = "live", "archive"


def output_fields(task: CorrelationTask) -> pa.Schema:
    """The columns of results: the correlation's own, then those of the live and the archive match."""
    kind = task.live.time_columns.type
    own = [pa.field(CORRELATION_START, kind), pa.field(CORRELATION_END, kind)]
    return pa.schema([*own, *side_fields(task.live, LIVE), *side_fields(task.archive, ARCHIVE)])


def side_fields(side: SideTask, prefix: str) -> list[pa.Field]:
    """The output columns of one side."""
    plan = side.typed.plan
    shown = [side.column_type(name) for name in plan.shown]
    return [
        pa.field(f"{prefix}.{name}", kind)
        for name, kind in zip(side.output_names, [*shown, *side.typed.slot_types], strict=True)
    ]


class ResultWriter:
    """Writes the results of one correlation's steps."""

    def __init__(self, task: CorrelationTask) -> None:
        self.task = task
        self.schema = output_fields(task)
        own = [pa.field(name, pa.int64()) for name in (KEY, START, END)]
        self.waiting_schema = pa.schema([*own, *self.schema])
        self._texts = frozenset(name for name in task.live.typed.plan.shown if _is_text(task.live.column_type(name)))
        self._equal_keys = [
            (live_name, archive_name)
            for live_name, archive_name in task.keys
            if task.live.column_type(live_name) == task.archive.column_type(archive_name)
            and not pa.types.is_floating(task.live.column_type(live_name))  # 0.0 equals -0.0, but the values differ
        ]

    def rows(self, live: WindowSide, outcome: StepOutcome, number: Ints | None, before: CorrelationState) -> NewResults:
        """The pairs as result rows, ordered by key, start and end."""
        task, growths = self.task, outcome.growths
        unordered = Pairs(outcome.live_of_pair, outcome.growth_of_pair)
        pairs = by_start(unordered, growths.key, growths.start, len(outcome.live.key))
        of_live = self._live_columns(live, outcome, number, pairs)
        equal = {archive_name: of_live[live_name] for live_name, archive_name in self._equal_keys}
        others = [name for name in task.archive.output_names if name not in equal]
        used, index_of_pair = _compacted(pairs.growth, pairs.of_growth)
        values = self.archive_values(outcome, used, before, others)
        of_archive = equal | {name: array.take(index_of_pair) for name, array in values.items()}
        start = times_of(growths.start, task.live.time_columns.type).take(pa.array(pairs.growth))
        end = times_of(outcome.live.end, task.live.time_columns.type).take(pa.array(pairs.live))
        in_order = [of_archive[name] for name in task.archive.output_names]
        return NewResults(pairs, outcome, typed_batch([start, end, *of_live.values(), *in_order], self.schema))

    def _live_columns(
        self, live: WindowSide, outcome: StepOutcome, number: Ints | None, pairs: OrderedPairs
    ) -> dict[str, pa.Array]:
        """The live matches' output columns, for each pair. A match is computed once."""
        assert outcome.live_probe_matches is not None
        used, index_of_pair = _compacted(pairs.live, pairs.of_live)
        index = outcome.live.match_index[used]
        values = live.values(outcome.live_probe_matches, index, None if number is None else number[index]).arrays
        of_key = RunsOfKeys(outcome.live.key[used], pairs.of_live[used])
        return {
            name: of_key.repeated(values[name]) if name in self._texts else values[name].take(index_of_pair)
            for name in self.task.live.output_names
        }

    def archive_values(
        self, outcome: StepOutcome, chosen: Ints, before: CorrelationState, names: Sequence[str]
    ) -> dict[str, pa.Array]:
        """The named output columns of the archive side, for some growths of the step."""
        assert isinstance(outcome.archive, WindowSide)
        return self.growth_values(
            outcome.growths, outcome.archive_probe_matches, outcome.archive, chosen, before, names
        )

    def growth_values(
        self,
        growths: Growths,
        probe_matches: ProbeMatches | None,
        side: WindowSide,
        chosen: Ints,
        before: CorrelationState,
        names: Sequence[str],
    ) -> dict[str, pa.Array]:
        """Values of growths, each chosen once: computed, or taken from the cache."""
        growths = growths.take(chosen)
        is_new = growths.match_index != NOT_FOUND_HERE
        pieces: list[Sequence[pa.Array]] = []
        if is_new.any() or before.cache is None:
            assert probe_matches is not None
            values = side.values(probe_matches, growths.match_index[is_new])
            pieces.append([values.arrays[name] for name in names])
        if not is_new.all():
            assert before.cache is not None
            stored = pa.array(growths.cache_index[~is_new])
            pieces.append([before.cache.column(f"{ARCHIVE}.{name}").take(stored) for name in names])
        if len(pieces) == 1:
            return dict(zip(names, pieces[0], strict=True))
        position = np.empty(len(is_new), np.int64)
        position[np.concatenate([np.flatnonzero(is_new), np.flatnonzero(~is_new)])] = np.arange(len(is_new))
        columns = [one_array(pa.chunked_array(column)).take(pa.array(position)) for column in zip(*pieces, strict=True)]
        return dict(zip(names, columns, strict=True))

    def split(
        self, waiting_results: pa.RecordBatch | None, new: NewResults | None, first_possible: Ints | None
    ) -> tuple[pa.Table, pa.RecordBatch | None]:
        """Results that can be given, and those that wait, ordered by key, start and end. None: nothing waits."""
        if waiting_results is None and new is not None and first_possible is None:
            return pa.Table.from_batches([new.rows]), None
        latest = None if new is None else new.with_times(self.waiting_schema)
        rows = joined([waiting_results, latest])
        if rows is None:
            return self.schema.empty_table(), None
        if waiting_results is not None and latest is not None:
            rows = rows.take(pa.array(merged_order(_times_of(waiting_results), _times_of(latest))))
        waits = None
        if first_possible is not None:
            is_final = np.asarray(rows.column(START)) <= first_possible[np.asarray(rows.column(KEY))]
            rows, waits = split(rows, is_final)
            if rows is None:
                return self.schema.empty_table(), waits
        return pa.Table.from_arrays(rows.columns[3:], schema=self.schema), waits


@dataclass(frozen=True, slots=True)
class NewResults:
    """The results of one step, ordered by key, start and end."""

    pairs: OrderedPairs
    outcome: StepOutcome
    rows: pa.RecordBatch

    def with_times(self, schema: pa.Schema) -> pa.RecordBatch:
        """The rows with key, start and end in front, to merge them with waiting results."""
        live, growths = self.outcome.live, self.outcome.growths
        own = [live.key[self.pairs.live], growths.start[self.pairs.growth], live.end[self.pairs.live]]
        return pa.RecordBatch.from_arrays([*map(pa.array, own), *self.rows.columns], schema=schema)


class RunsOfKeys:
    """Repeats texts that are equal for all rows of a key. Rows are grouped by key, so runs are faster than take."""

    def __init__(self, key: Ints, pairs: Ints) -> None:
        """`key`: the key of each match, ordered. `pairs`: the number of pairs of each match, at least one."""
        self.first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        self.ends = np.cumsum(np.add.reduceat(pairs, self.first))

    def repeated(self, of_match: pa.Array) -> pa.Array:
        """For each result row, the value of its key."""
        of_key = of_match.take(pa.array(self.first))
        return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(pa.array(self.ends), of_key))


def _times_of(results: pa.RecordBatch) -> ResultTimes:
    return ResultTimes(*(np.asarray(results.column(name)) for name in (KEY, START, END)))


def _compacted(chosen: Ints, times_chosen: Ints) -> tuple[Ints, pa.Array]:
    """The distinct chosen indices, ascending, and the position of each choice among them."""
    used = np.flatnonzero(times_chosen)
    if len(used) == len(times_chosen):
        return used, pa.array(chosen)
    return used, pa.array((np.cumsum(times_chosen > 0) - 1)[chosen])


def _is_text(kind: pa.DataType) -> bool:
    """Whether equal values of the type are identical, unlike 0.0 and -0.0."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def typed_batch(arrays: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """The arrays, cast to the types of the schema."""
    fitting = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(arrays, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(fitting, schema=schema)
