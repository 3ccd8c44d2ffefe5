"""One step of one bucket of rules: what the rules find in its rows, what changed, and the bucket after the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.stream.key_layout import KeyLayout, key_numbers, lay_out
from ostinato.errors import MatchError, OstinatoError
from ostinato.expressions.values.value_order import OrderKey
from ostinato.kernels.clock import Work
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.match_ids import tie_ordinals
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import order_rows
from ostinato.rule_sets.bucket_layout import Attempts, RuleBucket, StoredAttempts
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_output import OutputTable
from ostinato.rule_sets.rule_search import RuleSearch, Standing
from ostinato.rule_sets.rules_in_force import Applied, Report, ReportKind, RuleRecord
from ostinato.streams.bucket_state import Rows
from ostinato.streams.intake import Intake
from ostinato.streams.record_batches import joined

if TYPE_CHECKING:
    from ostinato.rule_sets.rules_core import RulesCore

_NEVER = np.iinfo(np.int64).max
_NO_WORK = Work(0, 0, 0)


class BucketStep:
    """The work of one step on one bucket."""

    def __init__(
        self,
        core: RulesCore,
        bucket: RuleBucket,
        applied: Applied,
        intake: Intake,
        known_before: int,
        decided_us: int,
        finished: bool,
        reports: bool,
    ) -> None:
        self.core = core
        self.declared = core.declared
        self.bucket = bucket
        self.applied = applied
        self.intake = intake
        self.known_before = known_before
        self.finished = finished
        self.reports = reports
        self.records: dict[str, RuleRecord] = dict(applied.records)
        self.output = OutputTable(core.declared, core.output, decided_us)
        self.released: pa.RecordBatch | None = None
        """The released rows with their numbers."""
        self.matches = 0
        self.rule_ns: dict[str, int] = {}
        self.suspended: list[str] = []
        """The rules that this step suspended."""

    def run(self) -> RuleBucket:
        """The bucket after the step. Output rows and counts are collected on the way."""
        if self.intake.late is not None and self.core.late == "show":
            self.output.add_late(self.intake.late)
        if self.reports:
            for report in self.applied.rejected:
                self.output.add_report(report)
        self._end_removed()
        layout = self._layout()
        self._numbered(layout)
        rows = self._rows(layout)
        names = tuple(name for name, record in sorted(self.records.items()) if record.is_active)
        stays_from = rows.key_at[1:].copy()
        standings: dict[str, Standing] = {}
        stored = StoredAttempts(self.bucket, layout)
        for name in names:
            began_ns = self.core.clock.now_ns()
            outcome = self._searched(name, stored, rows)
            self.rule_ns[name] = self.core.clock.spent_ns(began_ns, _NO_WORK)
            if outcome is not None:
                standings[name], needed_from = outcome
                np.minimum(stays_from, needed_from, out=stays_from)
        return self._after(layout, rows, standings, stays_from)

    # --- rows of the step ---

    def _layout(self) -> KeyLayout:
        bucket, released = self.bucket, self.intake.released
        keys = bucket.keys
        remembered = None
        if bucket.open_rows is not None:
            first = pa.array(bucket.first)
            remembered = [bucket.open_rows.column(name).take(first) for name in self.declared.keys]
        key_of = key_numbers(remembered, released, self.declared.keys)
        frees_rows = any(not self.records[name].is_active for name in bucket.rules)
        due = np.full(len(keys.rows), self.finished or self.applied.touches_runs or frees_rows)
        due[bucket.attempts.key[self._expires(bucket)]] = True
        return lay_out(keys, due, self._ordered(released), key_of)

    def _ordered(self, released: pa.RecordBatch | None) -> Rows:
        """The released rows by time, then by all declared columns: all rules see them in the same order."""
        if released is None:
            return np.empty(0, np.int64)
        order = [OrderKey(released.column(name)) for name in self.declared.time]
        ordered = order_rows(released.num_rows, (), order, lambda: released.columns).rows
        return np.arange(released.num_rows) if ordered is None else ordered

    def _rows(self, layout: KeyLayout) -> KeyRows:
        pool = joined([self.bucket.open_rows, self.released])
        if pool is None:
            empty = self.declared.schema.empty_table()
            columns = {name: empty.column(name).combine_chunks() for name in empty.column_names}
            return KeyRows(columns, np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))
        laid_out = pool.take(pa.array(layout.rows))
        columns = dict(zip(laid_out.schema.names, laid_out.columns, strict=True))
        at_hand = np.zeros(len(layout.keys), np.int64)
        is_remembered = layout.keys < len(self.bucket.rows)
        at_hand[is_remembered] = self.bucket.rows[layout.keys[is_remembered]]
        return KeyRows(columns, self.core.gate.times(laid_out), layout.key_at, at_hand, self.declared.settings)

    def _numbered(self, layout: KeyLayout) -> None:
        """Numbers the released rows that are equal in key and time. Ids tell them apart by these numbers."""
        released = self.intake.released
        if released is None:
            return
        new = layout.rows - int(self.bucket.rows.sum())
        is_new = new >= 0
        key_at = np.append(0, np.cumsum(is_new))[layout.key_at]
        positions = new[is_new]
        order = [released.column(name).take(pa.array(positions)) for name in self.declared.time]
        ordinals = np.empty(released.num_rows, np.int64)
        ordinals[positions] = tie_ordinals(order, key_at)
        self.released = released.append_column(ORDINAL, pa.array(ordinals))

    def _expires(self, bucket: RuleBucket) -> NDArray[np.bool_]:
        """The attempts whose WITHIN ends in this step."""
        ends = self._ends(bucket)
        return (ends > self.known_before) & (ends <= self.intake.known_until)

    def _ends(self, bucket: RuleBucket) -> NDArray[np.int64]:
        """For each attempt the time up to which rows must be known for WITHIN to end its first open start."""
        attempts = bucket.attempts
        ends = np.full(len(attempts.key), _NEVER)
        if bucket.open_rows is None:
            return ends
        within = np.array([self._within_us(name) for name in bucket.rules], np.int64)[attempts.rule]
        timed = (attempts.open > 0) & (within < _NEVER)
        last = bucket.first + bucket.rows
        start = (last[attempts.key] - attempts.open)[timed]
        ends[timed] = self.core.gate.times(bucket.open_rows)[start] + within[timed]
        return ends

    def _within_us(self, name: str) -> int:
        record = self.records.get(name)
        if record is None or not record.is_active:
            return _NEVER
        try:
            within = self.core.search_of(record.change).within_us
        except OstinatoError:  # `_searched` suspends the rule
            return _NEVER
        return _NEVER if within is None else within

    def wake_at(self, after: RuleBucket) -> int | None:
        """The watermark at which the state changes even if no row comes."""
        ends = self._ends(after)
        ends = ends[(ends > self.intake.known_until) & (ends < _NEVER)]
        moments = [int(ends.min())] if len(ends) else []
        if self.intake.waiting_from is not None:
            moments.append(self.intake.waiting_from)
        return min(moments, default=None)

    # --- one rule ---

    def _searched(self, name: str, stored: StoredAttempts, rows: KeyRows) -> tuple[Standing, Rows] | None:
        """Where the rule stands after the step, and the rows that it needs; None if it was suspended."""
        record = self.records[name]
        standing = self._standing(name, stored, rows)
        try:
            search = self.core.search_of(record.change)
            self._tell_change(name, stored, rows, standing)
            if not rows.count:
                return standing, rows.key_at[1:]
            outcome = search.run(rows, standing, self.intake.known_until, finished=self.finished)
        except OstinatoError as failure:
            self._suspend(record, failure)
            return None
        self.matches += outcome.matches
        for row, error in sorted(outcome.failed.items()):
            self.output.add_error(record.change, error, rows, row)
        self.output.add_matches(search.rule, outcome.results)
        too_large = self._too_large(search, rows, outcome.standing, stored.open_elsewhere(name))
        if too_large is not None:
            self._suspend(record, too_large)
            return None
        return outcome.standing, outcome.needed_from

    def _suspend(self, record: RuleRecord, failure: OstinatoError) -> None:
        change = record.change
        self.records[change.id] = RuleRecord(change, record.seen, suspended=True)
        self.suspended.append(change.id)
        until = "the rule is suspended for the keys of this bucket until a new version comes"
        self.output.add_report(Report("rule_suspended", change.id, change.version, f"{failure.one_line()}; {until}"))

    def _standing(self, name: str, stored: StoredAttempts, rows: KeyRows) -> Standing:
        """Where the rule stands before the step: as stored, or where a new version starts."""
        first, stored_end = rows.key_at[:-1], rows.stored_end
        zeros = np.zeros(len(first), np.int64)
        change = self.records[name].change
        if name in self.applied.added:
            begin = first if change.options.start == "kept" else stored_end
            return Standing(begin, begin, zeros, begin, begin)
        if name in self.applied.changed and change.options.start == "new":
            return Standing(stored_end, stored_end, zeros, stored_end, stored_end)
        standing = stored_standing(name, stored, rows)
        if name in self.applied.changed:
            return Standing(standing.visible_from, standing.start, zeros, standing.start, standing.start)
        return standing

    def _too_large(self, search: RuleSearch, rows: KeyRows, standing: Standing, elsewhere: int) -> MatchError | None:
        """The error if the rule's open rows take more bytes than its limit, by the average size of a row."""
        open_rows = int((rows.key_at[1:] - standing.start).sum()) + elsewhere
        if self.finished or open_rows * rows.row_bytes <= search.rule.max_state_bytes:
            return None
        return MatchError(
            "RULE_STATE_TOO_LARGE",
            f"its open partial matches hold {open_rows:,} rows, more than {search.rule.max_state_bytes:,} bytes",
            hint="bound the pattern with WITHIN, tighten DEFINE, or raise max_state_bytes",
        )

    # --- changes ---

    def _end_removed(self) -> None:
        """Ends the open partial matches of removed rules."""
        if not self.applied.removed:
            return
        no_rows = np.empty(0, np.int64)
        all_keys = lay_out(self.bucket.keys, np.ones(len(self.bucket.rows), np.bool_), no_rows, no_rows)
        stored = StoredAttempts(self.bucket, all_keys)
        for name, before in sorted(self.applied.removed.items()):
            open_keys = int((stored.of_rule(name).open > 0).sum())
            change = self.records[name].change
            reason = change.options.reason
            message = "removed" if reason is None else f"suspended by a change: {reason}"
            if open_keys:
                message += f"; open partial matches of {open_keys:,} keys ended"
            if open_keys and change.options.at_end == "finish":
                message += " as at the end of input"
                self._finish_removed(name, before, stored, self._rows(all_keys))
            if self.reports or open_keys:
                kind: ReportKind = "rule_changed" if reason is None else "rule_suspended"
                self.output.add_report(Report(kind, name, change.version, message))

    def _finish_removed(self, name: str, before: RuleChange, stored: StoredAttempts, rows: KeyRows) -> None:
        """The rows that the end of input would give for the stored rows."""
        try:
            search = self.core.search_of(before)
            outcome = search.run(rows, stored_standing(name, stored, rows), self.known_before, finished=True)
        except OstinatoError as failure:
            self.output.add_report(Report("rule_suspended", name, before.version, failure.one_line()))
            return
        self.matches += outcome.matches
        self.output.add_matches(search.rule, outcome.results)

    def _tell_change(self, name: str, stored: StoredAttempts, rows: KeyRows, standing: Standing) -> None:
        """Reports an added or changed rule, and what it starts with."""
        change = self.records[name].change
        open_keys = int((standing.start < rows.stored_end).sum())
        if name in self.applied.added:
            message = "added; it sees the rows from now on"
            if change.options.start == "kept":
                message = f"added; it starts with the rows that {open_keys:,} keys still hold"
        elif name in self.applied.changed:
            version = self.applied.changed[name].version
            message = f"changed from version {version}; open partial matches of {open_keys:,} keys are searched anew"
            if change.options.start == "new":
                open_keys = int((stored.of_rule(name).open > 0).sum())
                message = f"changed from version {version}; open partial matches of {open_keys:,} keys ended"
        else:
            return
        if self.reports or open_keys:
            self.output.add_report(Report("rule_changed", name, change.version, message))

    # --- the bucket after the step ---

    def _after(self, layout: KeyLayout, rows: KeyRows, standings: dict[str, Standing], stays_from: Rows) -> RuleBucket:
        bucket = self.bucket
        # A rule that was suspended in this step is named once more: the next step frees its rows of all keys.
        names = (*standings, *self.suspended)
        if not len(layout.keys) and names == bucket.rules:
            return bucket
        remembered = len(bucket.rows)
        untouched = np.ones(remembered, np.bool_)
        untouched[layout.keys[layout.keys < remembered]] = False
        if self.finished:
            stays_from = rows.key_at[1:]
        stay = rows.key_at[1:] - stays_from
        kept = np.flatnonzero(stay > 0)
        new_number = np.full(remembered, -1)
        new_number[untouched] = np.arange(int(untouched.sum()))
        parts = [self._untouched_attempts(tuple(standings), new_number)]
        numbers = int(untouched.sum()) + np.arange(len(kept))
        for number, standing in enumerate(standings.values()):
            parts.append(_attempts(number, numbers, standing, rows.key_at[1:], stays_from, kept))
        first = bucket.first[untouched]
        chosen = np.concatenate(
            [ranges(first, bucket.rows[untouched]), layout.rows[ranges(stays_from[kept], stay[kept])]]
        )
        pool = joined([bucket.open_rows, self.released])
        left = pool.take(pa.array(chosen)) if pool is not None and len(chosen) else None
        counts = np.concatenate([bucket.rows[untouched], stay[kept]])
        return RuleBucket(bucket.digest, names, counts, Attempts.joined(parts), left)

    def _untouched_attempts(self, names: tuple[str, ...], new_number: Rows) -> Attempts:
        """The attempts on keys that weren't laid out, with the new numbers of rules and keys."""
        attempts = self.bucket.attempts
        new_rule = np.array([names.index(name) if name in names else -1 for name in self.bucket.rules], np.int64)
        if not len(attempts.key):
            return attempts
        moved = attempts._replace(rule=new_rule[attempts.rule], key=new_number[attempts.key])
        return moved.select((moved.rule >= 0) & (moved.key >= 0))


def stored_standing(name: str, stored: StoredAttempts, rows: KeyRows) -> Standing:
    """Where the rule stood after the step before."""
    attempts, key = stored.laid_out(name)
    first, stored_end = rows.key_at[:-1], rows.stored_end
    standing = Standing(first.copy(), stored_end.copy(), np.zeros_like(first), stored_end.copy(), first.copy())
    standing.visible_from[key] += attempts.hidden
    standing.start[key] -= attempts.open
    standing.number[key] = attempts.number
    standing.reported_until[key] -= attempts.unreported
    standing.covered_until[key] += attempts.covered
    return standing


def _attempts(rule: int, numbers: Rows, standing: Standing, key_end: Rows, stays_from: Rows, kept: Rows) -> Attempts:
    """The attempts of one rule on the laid-out keys that keep rows, without those that remember nothing."""
    end, begin = key_end[kept], stays_from[kept]
    attempts = Attempts(
        rule=np.full(len(kept), rule),
        key=numbers,
        open=end - standing.start[kept],
        hidden=np.maximum(standing.visible_from[kept] - begin, 0),
        number=standing.number[kept],
        unreported=end - np.maximum(standing.reported_until[kept], begin),
        covered=np.maximum(standing.covered_until[kept] - begin, 0),
    )
    return attempts.select(np.logical_or.reduce([column > 0 for column in attempts[2:]]))
