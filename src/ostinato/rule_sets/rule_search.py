"""One rule over the laid-out rows of some keys -> its output rows, its attempts, and the rows that it still needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.matching.spans import keys_of
from ostinato.clause.stream.stream_search import StreamSearch
from ostinato.clause.task.clause_worker import Worker
from ostinato.errors import MatchError
from ostinato.rows.batches import Batch, OutputRows
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.ordering import Ordered
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.streams.bucket_state import RememberedKeys, Rows


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The rows of some keys in the order of matching; stored rows of a key come before its new ones."""

    columns: Mapping[str, pa.Array]
    times: NDArray[np.int64]
    key_at: Rows
    stored: Rows
    """The number of stored rows of each key."""

    @property
    def count(self) -> int:
        return int(self.key_at[-1])


class Standing(NamedTuple):
    """Where a rule stands in each key, as row numbers in `KeyRows`."""

    visible_from: Rows
    start: Rows
    number: Rows
    reported_until: Rows
    covered_until: Rows


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The result of searching the keys with one rule."""

    results: OutputRows
    matches: int
    standing: Standing
    needed_from: Rows
    """The first row of each key that the rule needs again."""
    failed: Mapping[int, MatchError]
    """New rows whose conditions can't be evaluated. The rule doesn't see them."""


class RuleSearch:
    """A compiled rule with its kernels. A worker makes it once for all buckets."""

    def __init__(self, rule: CompiledRule) -> None:
        self.rule = rule
        self.search = StreamSearch(Worker(rule.plan.typed))

    @property
    def within_us(self) -> int | None:
        """The time after which an open start expires; None if no time ends it."""
        return None if self.search.needs.after else self.search.within_us

    def run(self, rows: KeyRows, standing: Standing, known_until: int, *, finished: bool) -> RuleOutcome:
        """Raises MatchError where the search itself fails: a limit, or a condition over several rows."""
        visible, batch, failed = self._evaluated(rows, standing)
        view_at = np.searchsorted(visible, rows.key_at)
        first = view_at[:-1]
        window = self.search.worker.window(batch, Ordered(None, view_at))
        keys = RememberedKeys(
            rows=np.diff(view_at),
            start=np.searchsorted(visible, standing.start) - first,
            number=standing.number,
            reported_until=np.searchsorted(visible, standing.reported_until) - first,
            covered_until=np.searchsorted(visible, standing.covered_until) - first,
        )
        ended = np.full(len(first), finished)
        found = self.search.find(keys, window, rows.times[visible], known_until, ended)
        stay = np.bincount(keys_of(view_at, found.rows), minlength=len(first))
        needed = view_at[1:] - stay
        remembered = np.flatnonzero(stay > 0)

        def in_rows(view: Rows) -> Rows:
            """Row numbers of the view as row numbers of all rows; the end of a key stays its end."""
            inside = np.append(visible, 0)[np.minimum(view, len(visible))]
            return np.where(view < view_at[1:], inside, rows.key_at[1:])

        def of_keys(values: Rows) -> Rows:
            """A row number of each key, relative to the needed rows -> a row number of all rows."""
            view = view_at[1:].copy()
            view[remembered] = needed[remembered] + values
            return in_rows(view)

        number = np.zeros(len(first), np.int64)
        number[remembered] = found.keys.number
        return RuleOutcome(
            found.results,
            found.count,
            Standing(
                np.minimum(standing.visible_from, rows.key_at[1:]),
                of_keys(found.keys.start),
                number,
                of_keys(found.keys.reported_until) if self.search.at_once else rows.key_at[1:],
                of_keys(found.keys.covered_until) if self.search.shows_unmatched else rows.key_at[:-1],
            ),
            in_rows(needed),
            failed,
        )

    def _evaluated(self, rows: KeyRows, standing: Standing) -> tuple[Rows, Batch, dict[int, MatchError]]:
        """The rows that the rule sees, evaluated, and the new rows that can't be evaluated."""
        lengths = np.diff(rows.key_at)
        row = np.arange(rows.count)
        visible = row[row >= np.repeat(standing.visible_from, lengths)]
        try:
            return visible, self._batch(rows, visible), {}
        except MatchError:
            failed = failing_rows(len(visible), lambda begin, end: self._batch(rows, visible[begin:end]))
        is_new = row >= np.repeat(rows.key_at[:-1] + rows.stored, lengths)
        errors = {int(visible[position]): error for position, error in failed.items()}
        visible = np.delete(visible, list(failed))
        new_errors = {number: error for number, error in errors.items() if is_new[number]}
        return visible, self._batch(rows, visible), new_errors

    def _batch(self, rows: KeyRows, chosen: Rows) -> Batch:
        columns = dict(rows.columns)
        if len(chosen) != rows.count:
            positions = pa.array(chosen)
            columns = {name: column.take(positions) for name, column in columns.items()}
        return self.rule.plan.batch(columns, len(chosen))
