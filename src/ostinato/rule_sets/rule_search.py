"""One rule over the laid-out rows of some keys -> its output rows, its attempts, and the rows that it still needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.matching.spans import keys_of
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.stream.live_states import DECIDED, LiveStates
from ostinato.clause.stream.open_runs import states_reached
from ostinato.clause.stream.searched_again import why_searched_again
from ostinato.clause.stream.stream_search import NO_RESULTS, Needs, StreamSearch
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.clause.task.located_errors import located
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import PreparedExpression
from ostinato.expressions.render import render_expression
from ostinato.expressions.values.value_order import OrderKey, sortable
from ostinato.funnels.funnel_clause import ORDER_COLUMN
from ostinato.rows.batches import Batch, Mask, OutputRows
from ostinato.rows.column_names import FAILED_SLOTS, MATCHED, PREFIX, ROW_ERROR
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import Ordered
from ostinato.rule_sets.bucket_layout import Attempts
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.key_rows import KeyRows, RowConditions, chosen
from ostinato.rule_sets.standings import Standing
from ostinato.streams.bucket_state import RememberedKeys, Rows
from ostinato.streams.stream_settings import StreamSettings

FAILED_ROW = f"{PREFIX}failed_row"
"""The number of a row at which a condition over several rows failed."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The result of searching the keys with one rule."""

    results: OutputRows
    matches: int
    standing: Standing
    needed_from: Rows
    """The first row of each key that the rule needs again."""
    failed: Mapping[int, str]
    """Rows for which conditions can't be evaluated, with the error. The rule doesn't see those of which a condition
    over the row alone fails. At others, conditions over several rows that fail count as not true."""


class View(NamedTuple):
    """The rows that a rule sees in the keys that it searches."""

    visible: Rows
    """Their numbers among all rows, ascending."""
    view: Rows
    """The same numbers in the rule's own order."""
    view_at: Rows
    batch: Batch
    """The rows of the view with the rule's expressions."""
    failed: Mapping[int, MatchError]
    """New rows that can't be evaluated."""


class _RuleWorker(Worker):
    """A search is bounded as a whole, not only from each row. Rows at which conditions fail come out by their numbers:
    a rule's error has all declared columns of its row."""

    def __init__(self, rule: CompiledRule) -> None:
        super().__init__(rule.plan.typed, skips_errors=True)
        self.task = replace(self.task, max_in_all=self.typed.limits.max_partial_matches)

    def failed_rows(self, columns: Mapping[str, pa.Array], errors: Mapping[int, MatchError]) -> OutputRows:
        texts = [located(error, self.bound, columns, row).one_line() for row, error in errors.items()]
        arrays = {FAILED_ROW: pa.array(list(errors), pa.int64()), ROW_ERROR: pa.array(texts, pa.string())}
        return OutputRows(len(errors), arrays)


class RuleSearch:
    """A compiled rule with its kernels. A worker makes it once for all buckets."""

    def __init__(self, rule: CompiledRule) -> None:
        self.rule = rule
        self.search = StreamSearch(_RuleWorker(rule))
        plan = rule.plan
        texts = map(render_expression, plan.plan.row_conditions)
        computed = {item.name: render_expression(item.expr) for item in plan.plan.inputs if item.is_computed}
        self.conditions = RowConditions(
            tuple(zip(texts, plan.row_conditions, strict=True)),
            {name: (text, plan.inputs[name]) for name, text in computed.items()} | self._order_input(),
        )
        self._first_conditions = self._of_first_rows()
        searches_again = why_searched_again(plan.plan, StreamSettings()) is not None
        self.live = None if searches_again else LiveStates(plan.plan)
        """Follows open starts; None: each step searches them again."""

    def _order_input(self) -> dict[str, tuple[str, PreparedExpression]]:
        """For a funnel: the column that orders events of one time."""
        rule = self.rule
        return {} if rule.order is None else {ORDER_COLUMN: (rule.order_text, rule.order)}

    @property
    def needs(self) -> Needs:
        """The rows around a match that the rule reads."""
        return self.search.needs

    @property
    def rows_before(self) -> int:
        """The rows before the next start that the rule keeps, because a match may read them."""
        return self.needs.before

    @property
    def within_us(self) -> int | None:
        """The time after which an open start expires; None if no time ends it."""
        return None if self.search.needs.held_back else self.search.within_us

    def _of_first_rows(self) -> frozenset[int] | None:
        """The row conditions of which a match's first row meets at least one; None if keys can't be left out by them.

        A key is left out if it has no such row and no open start. Then it has no match, and the rule needs none of its
        rows.
        """
        search, nfa = self.search, self.rule.plan.plan.nfa
        needs_all_keys = search.at_once or search.shows_unmatched or search.needs.before or search.needs.numbers
        if needs_all_keys or min(nfa.elsewhere, default=-1) < 0:
            return None
        conditions = frozenset(self.rule.plan.plan.state_conditions[state].row for state in nfa.elsewhere)
        return conditions if min(conditions) >= 0 else None

    @property
    def recent_rows(self) -> int:
        """The number of last rows of a key that a step may read beside its new rows if no start is open there."""
        before = max(margins_of(self.rule.plan.plan).before, self.search.needs.before)
        return max(before, int(self.search.needs.numbers), int(self.rule.suppression is not None))

    def sees_all(self, rows: KeyRows) -> bool:
        """Whether the rule can evaluate all these rows."""
        try:
            rows.evaluated(self.conditions)
        except Exception:  # the search tells of it
            return False
        return True

    def run(
        self, rows: KeyRows, standing: Standing, known_until: int, ended: Mask, searched: Mask | None = None
    ) -> RuleOutcome:
        """`ended`: whether no row follows in a key. `searched` are the keys to search; None: all. Raises MatchError
        where the search itself fails: a limit, or a SKIP TO without its row."""
        seen = self.view(rows, standing, searched)
        if seen is None:
            return _nothing(rows, standing)
        visible, view, view_at = seen.visible, seen.view, seen.view_at
        first = view_at[:-1]
        window = self.search.worker.window(seen.batch, Ordered(None, view_at))
        keys = RememberedKeys(
            rows=np.searchsorted(visible, rows.stored_end) - first,
            start=np.searchsorted(visible, standing.start) - first,
            number=standing.number,
            reported_until=np.searchsorted(visible, standing.reported_until) - first,
            covered_until=np.searchsorted(visible, standing.covered_until) - first,
        )
        found = self.search.find(keys, window, rows.times[view], known_until, ended)
        results, failed = self._without_failed(found.results, view)
        failed |= {row: error.one_line() for row, error in seen.failed.items()}
        self._check_errors(failed)
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

        number, live = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
        number[remembered] = found.keys.number
        live[remembered] = self._live(window, keys, found.keys, needed[remembered], view_at[1:][remembered])
        return RuleOutcome(
            results,
            found.count,
            Standing(
                np.minimum(standing.visible_from, rows.key_at[1:]),
                of_keys(found.keys.start),
                number,
                of_keys(found.keys.reported_until) if self.search.at_once else rows.key_at[1:],
                of_keys(found.keys.covered_until) if self.search.shows_unmatched else rows.first_stored,
                standing.quiet_until,
                live,
            ),
            in_rows(needed) if self.rule.order is None else _first_rows(view, needed, view_at, rows),
            failed,
        )

    def _live(self, window: Window, keys: RememberedKeys, left: RememberedKeys, first: Rows, end: Rows) -> Rows:
        """The live states of the first open starts that a search of `keys` left in keys with the rows `first:end`."""
        result = np.full(len(first), DECIDED)
        is_open = left.start < left.rows
        if self.live is not None and is_open.any():
            window = self.search.growing(window, np.ones(len(keys.rows), np.bool_), keys)
            symbols = self.search.worker.symbols(replace(window, failures=RowFailures()))  # the search has told of them
            begin = np.where(left.start == 0, self.live.at_start, self.live.elsewhere)
            result[is_open] = self.live.walk(begin[is_open], symbols, (first + left.start)[is_open], end[is_open])
        return result

    def _without_failed(self, found: OutputRows, view: Rows) -> tuple[OutputRows, dict[int, str]]:
        """The output rows, and the errors of rows at which conditions over several rows failed."""
        arrays = {name: array for name, array in found.arrays.items() if name not in (FAILED_ROW, FAILED_SLOTS)}
        if not self.search.shows_unmatched:
            arrays.pop(MATCHED, None)
        results = OutputRows(found.count, arrays)
        if FAILED_ROW not in found.arrays:
            return results, {}
        is_row = found.arrays[FAILED_ROW].is_valid()
        numbers = view[np.asarray(found.arrays[FAILED_ROW].filter(is_row))]
        errors = found.arrays[ROW_ERROR].filter(is_row).to_pylist()
        good = pc.invert(is_row)
        arrays = {name: array.filter(good) for name, array in arrays.items()}
        count = found.count - len(numbers)
        return OutputRows(count, arrays if count else {}), dict(zip(numbers.tolist(), errors, strict=True))

    def _check_errors(self, errors: Mapping[int, str]) -> None:
        most = self.rule.max_errors
        if len(errors) > most:
            raise MatchError(
                "RULE_FAILS_TOO_OFTEN",
                f"its limit is {most:,} rows of one micro-batch that it can't evaluate;"
                f" the first: {errors[min(errors)]}",
                hint="correct DEFINE, for example with try_divide or a test for NULL, or raise max_errors",
            )

    def states(self, rows: KeyRows, standing: Standing) -> NDArray[np.bool_]:
        """For each key the states that may consume the next row; none for a key without an open start."""
        count = len(self.rule.plan.plan.nfa.states)
        seen = self.view(rows, standing)
        if seen is None:
            return np.zeros((len(rows.stored), count), np.bool_)
        window = self.search.worker.window(seen.batch, Ordered(None, seen.view_at))
        window = self.search.growing(window, np.ones(len(rows.stored), np.bool_))
        start = np.searchsorted(seen.visible, standing.start)
        end = np.maximum(seen.view_at[1:] - self.search.needs.held_back, start)
        symbols, nfa = self.search.worker.symbols(window), self.rule.plan.plan.nfa
        reached = states_reached(nfa, symbols, start, end, start == seen.view_at[:-1])
        return np.where((standing.start < rows.stored_end)[:, None], reached, False)

    def first_open_rows(self, rows: KeyRows, standing: Standing) -> Rows:
        """The first row of each key, in the order of the stream, among those from the rule's open start on."""
        seen = None if self.rule.order is None else self.view(rows, standing)
        if seen is None:
            return standing.start
        begin = np.searchsorted(seen.visible, standing.start)
        return np.minimum(_first_rows(seen.view, begin, seen.view_at, rows), standing.start)

    def kept_rows(self, stored: Rows, attempts: Attempts) -> Rows:
        """The number of stored rows of each key that the rule itself keeps. `attempts` are its own on these keys."""
        visible, kept = stored.copy(), np.full(len(stored), self.search.needs.before)
        visible[attempts.key] -= attempts.hidden
        kept[attempts.key] = np.maximum(kept[attempts.key], (attempts.number > 0) & self.search.needs.numbers)
        kept[attempts.key] += attempts.open
        kept[attempts.key] = np.maximum(kept[attempts.key], attempts.quiet > 0)
        own: Rows = np.minimum(kept, visible)
        return own

    def view(self, rows: KeyRows, standing: Standing, searched: Mask | None = None) -> View | None:
        """The rows to search; None if no key may have a match. `searched` are the keys to search; None: all."""
        visible, batch, failed = self._evaluated(rows, standing)
        at = np.searchsorted(visible, rows.key_at)
        begin = self._own_rows_begin(visible, at, standing)
        must_search = self._must_search(rows, standing, batch, begin, at[1:])
        if searched is not None:
            must_search = must_search & searched
        count = np.where(must_search, at[1:] - begin, 0)
        if not count.any() and not failed:
            return None
        if int(count.sum()) < len(visible):
            in_view = ranges(begin, count)
            visible, batch = visible[in_view], chosen(batch, in_view)
        view_at = np.searchsorted(visible, rows.key_at)
        if self.rule.order is None:
            return View(visible, visible, view_at, batch, failed)
        position = self._in_order(batch, view_at)
        return View(visible, visible[position], view_at, chosen(batch, position), failed)

    def _evaluated(self, rows: KeyRows, standing: Standing) -> tuple[Rows, Batch, dict[int, MatchError]]:
        """The rows that the rule sees, evaluated, and the new rows that can't be evaluated."""
        row = np.arange(rows.count)
        is_visible = row >= np.repeat(standing.visible_from, np.diff(rows.key_at))
        visible = row if is_visible.all() else row[is_visible]
        try:
            batch = rows.evaluated(self.conditions)
            return visible, batch if len(visible) == batch.count else chosen(batch, visible), {}
        except MatchError:  # perhaps for a row that this rule doesn't see
            pass
        is_new = visible >= np.repeat(rows.stored_end, np.diff(rows.key_at))[visible]
        new_errors = self._failing(rows, visible[is_new], self.rule.max_errors)
        self._check_errors({row: error.one_line() for row, error in new_errors.items()})
        # Stored rows that fail have been told of, or only other rules hold them.
        failed = [*new_errors, *self._failing(rows, visible[~is_new])]
        visible = np.setdiff1d(visible, np.array(failed, np.int64), assume_unique=True)
        return visible, rows.evaluated_part(self.conditions, visible), new_errors

    def _failing(self, rows: KeyRows, chosen: Rows, most: int | None = None) -> dict[int, MatchError]:
        """Those of the rows that can't be evaluated, one more than `most` at most."""
        failed = failing_rows(
            len(chosen), lambda begin, end: rows.evaluated_part(self.conditions, chosen[begin:end]), most
        )
        return {int(chosen[position]): error for position, error in failed.items()}

    def _own_rows_begin(self, visible: Rows, at: Rows, standing: Standing) -> Rows:
        """The index of each key's first visible row that the rule itself keeps. Earlier rows are there for other rules.
        This rule must not read them, or its errors would depend on these rules."""
        if self.rule.order is not None:  # a funnel reads no row before its start, which stands in its own order
            return at[:-1]
        needs = self.search.needs
        before = np.maximum(needs.before, (standing.number > 0) & needs.numbers)
        return np.maximum(at[:-1], np.searchsorted(visible, standing.start) - before)

    def _must_search(self, rows: KeyRows, standing: Standing, batch: Batch, begin: Rows, end: Rows) -> Mask:
        """The keys that have an open start, or a row that may be one."""
        if self._first_conditions is None:
            return np.ones(len(begin), np.bool_)
        may_start: Mask = np.logical_or.reduce([batch.row_masks[number] for number in self._first_conditions])
        starts = np.append(0, np.cumsum(may_start))
        must_search: Mask = (starts[end] > starts[begin]) | (standing.start < rows.stored_end)
        return must_search

    def _in_order(self, batch: Batch, view_at: Rows) -> Rows:
        """The positions of the rows in the rule's own order. It differs from that of the stream within one time only,
        and rows of one time are released together, so a suffix of a key's rows has the same order in every step."""
        key = np.repeat(np.arange(len(view_at) - 1), np.diff(view_at))
        columns = [key]
        for order_key in self.rule.plan.plan.bound.order_by:
            columns += sortable(OrderKey(batch.arrays[order_key.column]))
        return np.lexsort(columns[::-1])


def _first_rows(view: Rows, needed: Rows, view_at: Rows, rows: KeyRows) -> Rows:
    """The first row of each key, in the order of the stream, among those that stand from `needed` on in the view."""
    first = np.append(np.minimum.accumulate(view[::-1])[::-1], rows.count)[needed]
    return np.where(needed < view_at[1:], first, rows.key_at[1:])


def _nothing(rows: KeyRows, standing: Standing) -> RuleOutcome:
    """The outcome if no key may have a match: the rule needs no row."""
    end = rows.key_at[1:]
    visible_from = np.minimum(standing.visible_from, end)
    none = np.zeros_like(end)
    after = Standing(visible_from, end, none, end, rows.first_stored, standing.quiet_until, none)
    return RuleOutcome(NO_RESULTS, 0, after, end, {})
