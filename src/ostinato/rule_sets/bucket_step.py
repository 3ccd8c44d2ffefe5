"""One step of one bucket of rules: what the rules find in its rows, what changed, and the bucket after the step."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

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
from ostinato.rule_sets import change_reports as reports
from ostinato.rule_sets.bucket_layout import Attempts, RuleBucket, StoredAttempts
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.key_rows import KeyRows, bytes_until
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_errors import as_error_of_rule
from ostinato.rule_sets.rule_lifetimes import in_lifetimes
from ostinato.rule_sets.rule_output import OutputTable
from ostinato.rule_sets.rule_search import RuleOutcome, RuleSearch
from ostinato.rule_sets.rule_set import RuleRecord
from ostinato.rule_sets.rules_in_force import Applied
from ostinato.rule_sets.standings import Standing, attempts_of, standing_at, stored_standing
from ostinato.rule_sets.suppressed_results import mark_suppressed
from ostinato.streams.bucket_state import Rows
from ostinato.streams.intake import Intake
from ostinato.streams.record_batches import joined

if TYPE_CHECKING:
    from ostinato.rule_sets.rules_core import RulesCore

_NEVER = np.iinfo(np.int64).max
_NO_WORK = Work(0, 0, 0)


class _Timers(NamedTuple):
    key: Rows
    """The number of a stored key. A key may have several timers."""
    at: Rows
    """Microseconds."""


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
        tells: bool,
    ) -> None:
        self.core = core
        self.declared = core.declared
        self.bucket = bucket
        self.applied = applied
        self.intake = intake
        self.known_before = known_before
        self.finished = finished
        self.tells = tells
        self.records: dict[str, RuleRecord] = dict(applied.rules.records)
        self.output = OutputTable(core.declared, core.output, decided_us)
        self.released: pa.RecordBatch | None = None
        """The released rows with their numbers."""
        self.matches = 0
        self.rule_ns: dict[str, int] = {}
        self.suspended: list[str] = []
        """The rules that this step suspended."""
        self.ended = np.empty(0, np.bool_)
        """Whether no row follows in a laid-out key."""
        self.forgotten_keys = 0

    def run(self) -> RuleBucket:
        """The bucket after the step. Output rows and counts are collected on the way."""
        if self.intake.late is not None and self.core.late == "show":
            self.output.add_late(self.intake.late)
        if self.tells:
            for rejection in self.applied.rejected:
                self.output.add_report(reports.rejected(rejection))
        self._end_removed()
        layout = self._layout()
        self._numbered(layout)
        layout, rows, self.ended, self.forgotten_keys = in_lifetimes(
            layout,
            self._rows(layout),
            self.bucket.rows,
            self.declared.forget_us,
            self.intake.known_until,
            finished=self.finished,
        )
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
        timers = self._timers(bucket)
        due[timers.key[(timers.at > self.known_before) & (timers.at <= self.intake.known_until)]] = True
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

    def _timers(self, bucket: RuleBucket) -> _Timers:
        """The times up to which rows must be known for the state of a key to change without new rows."""
        attempts = bucket.attempts
        if bucket.open_rows is None:
            return _Timers(np.empty(0, np.int64), np.empty(0, np.int64))
        times = self.core.gate.times(bucket.open_rows)
        within = np.array([self._within_us(name) for name in bucket.rules], np.int64)[attempts.rule]
        timed = (attempts.open > 0) & (within < _NEVER)
        last = bucket.first + bucket.rows
        begins = times[(last[attempts.key] - attempts.open)[timed]]
        expires = np.minimum(begins, _NEVER - 1 - within[timed]) + within[timed]  # WITHIN ends the first open start
        is_quiet = attempts.quiet > 0
        shows = times[bucket.first[attempts.key[is_quiet]]] + attempts.quiet[is_quiet]
        keys, at = [attempts.key[timed], attempts.key[is_quiet]], [expires, shows]
        if self.declared.forget_us is not None:
            keys.append(np.arange(len(bucket.rows)))
            at.append(times[last - 1] + self.declared.forget_us)
        return _Timers(np.concatenate(keys), np.concatenate(at))

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
        at = self._timers(after).at
        at = at[at > self.intake.known_until]
        moments = [int(at.min())] if len(at) else []
        if self.intake.waiting_from is not None:
            moments.append(self.intake.waiting_from)
        return min(moments, default=None)

    # --- one rule ---

    def _searched(self, name: str, stored: StoredAttempts, rows: KeyRows) -> tuple[Standing, Rows] | None:
        """Where the rule stands after the step, and the rows that it needs; None if it was suspended."""
        change = self.records[name].change
        try:
            search = self.core.search_of(change)
            standing = self._standing(name, stored, rows)
            self._tell_change(name, stored, rows, standing)
            if not rows.count:
                return standing, rows.key_at[1:]
            outcome = search.run(rows, standing, self.intake.known_until, self.ended)
            outcome = self._with_suppressed(search.rule, rows, outcome)
            self._add_outcome(search.rule, rows, outcome)
            self._check_bytes(search, rows, outcome.needed_from, name, stored)
        except Exception as error:
            self.records[name] = RuleRecord(change, suspended=True)
            self.suspended.append(name)
            self.output.add_report(reports.suspended(change, as_error_of_rule(error)))
            return None
        return outcome.standing, outcome.needed_from

    def _with_suppressed(self, rule: CompiledRule, rows: KeyRows, outcome: RuleOutcome) -> RuleOutcome:
        """Marks suppressed matches. A key stays in the state until it isn't quiet any more."""
        if rule.suppression is None:
            return outcome
        results, quiet_until = outcome.results, outcome.standing.quiet_until
        if results.count:
            results, quiet_until = mark_suppressed(rule, results, rows, self.declared.keys, quiet_until)
        last_row = rows.key_at[1:] - 1
        is_quiet = quiet_until > self.intake.known_until
        needed_from = np.where(is_quiet, np.minimum(outcome.needed_from, last_row), outcome.needed_from)
        standing = outcome.standing._replace(quiet_until=quiet_until)
        return replace(outcome, results=results, standing=standing, needed_from=needed_from)

    def _add_outcome(self, rule: CompiledRule, rows: KeyRows, outcome: RuleOutcome) -> None:
        for row, error in sorted(outcome.failed.items()):
            self.output.add_error(rule.change, error, rows, row)
        self.output.add_matches(rule, outcome.results)
        self.matches += outcome.matches

    def _standing(self, name: str, stored: StoredAttempts, rows: KeyRows) -> Standing:
        """Where the rule stands before the step: as stored, or where a new version starts."""
        change = self.records[name].change
        if name in self.applied.added:
            return standing_at(rows.key_at[:-1] if change.options.start == "kept" else rows.stored_end)
        if name not in self.applied.changed:
            return stored_standing(name, stored, rows)
        if change.options.start == "new":
            return standing_at(rows.stored_end)
        return self._searched_anew(name, stored_standing(name, stored, rows), rows)

    def _searched_anew(self, name: str, before: Standing, rows: KeyRows) -> Standing:
        """The new version goes on from the open starts of the version before. It also sees the earlier rows that this
        version kept, but not those that only other rules hold: then its matches would depend on these rules."""
        return self._begin_anew(name, before, rows)._replace(quiet_until=before.quiet_until)

    def _begin_anew(self, name: str, before: Standing, rows: KeyRows) -> Standing:
        """The first row that the new version searches in each key, and the first row that it sees."""
        after = self.core.search_of(self.records[name].change)
        try:
            old = self.core.search_of(self.applied.changed[name])
        except OstinatoError:  # this version of Ostinato can't run it
            return standing_at(before.start)
        if old.rule.order_text != after.rule.order_text:
            # Starts are numbers in the rule's own order. The new version begins at the first open row in any order.
            return standing_at(old.first_open_rows(rows, before))
        if after.rule.order is not None:
            return standing_at(before.start, before.visible_from)  # a funnel reads no row before its first one
        return standing_at(before.start, np.maximum(before.visible_from, before.start - old.rows_before))

    def _check_bytes(
        self, search: RuleSearch, rows: KeyRows, needed_from: Rows, name: str, stored: StoredAttempts
    ) -> None:
        """Raises RULE_STATE_TOO_LARGE if the rows that the rule keeps take more bytes than its limit."""
        if self.finished:
            return
        taken, most = rows.bytes_from(needed_from), search.rule.max_state_bytes
        if stored.is_elsewhere.any():
            kept = np.where(stored.is_elsewhere, search.kept_rows(self.bucket.rows, stored.of_rule(name)), 0)
            end = self.bucket.first + self.bucket.rows
            taken += float((self._stored_bytes_until[end] - self._stored_bytes_until[end - kept]).sum())
        if taken > most:
            raise MatchError(
                "RULE_STATE_TOO_LARGE",
                f"the rows that it keeps take {taken:,.0f} bytes, more than {most:,}",
                hint="bound the pattern with WITHIN, tighten DEFINE, use a smaller PREV, or raise max_state_bytes",
            )

    @cached_property
    def _stored_bytes_until(self) -> NDArray[np.float64]:
        """For each stored row, and for the end, the bytes of all rows before it."""
        columns = [] if self.bucket.open_rows is None else self.bucket.open_rows.columns
        return bytes_until(columns, int(self.bucket.rows.sum()))

    # --- changes ---

    def _end_removed(self) -> None:
        """Ends the open partial matches of removed rules."""
        if self.tells:
            for name in sorted(self.applied.removed_in_vain):
                self.output.add_report(reports.removed_in_vain(self.records[name].change))
        if not self.applied.removed:
            return
        no_rows = np.empty(0, np.int64)
        all_keys = lay_out(self.bucket.keys, np.ones(len(self.bucket.rows), np.bool_), no_rows, no_rows)
        stored = StoredAttempts(self.bucket, all_keys)
        for name, before in sorted(self.applied.removed.items()):
            open_keys = int((stored.of_rule(name).open > 0).sum())
            change = self.records[name].change
            if open_keys and change.options.at_end == "finish":
                self._finish_removed(name, before, stored, self._rows(all_keys))
            if self.tells or open_keys:
                self.output.add_report(reports.removed(change, open_keys))

    def _finish_removed(self, name: str, before: RuleChange, stored: StoredAttempts, rows: KeyRows) -> None:
        """The rows that the end of input would give for the stored rows."""
        try:
            search = self.core.search_of(before)
            ended = np.ones(len(rows.stored), np.bool_)
            outcome = search.run(rows, stored_standing(name, stored, rows), self.known_before, ended)
            self._add_outcome(search.rule, rows, self._with_suppressed(search.rule, rows, outcome))
        except Exception as error:
            self.output.add_report(reports.suspended(before, as_error_of_rule(error)))

    def _tell_change(self, name: str, stored: StoredAttempts, rows: KeyRows, standing: Standing) -> None:
        """Reports an added or changed rule, and what it starts with."""
        change = self.records[name].change
        open_keys = int((standing.start < rows.stored_end).sum())
        if name in self.applied.added:
            report = reports.added(change, open_keys)
        elif name in self.applied.changed:
            if change.options.start == "new":
                open_keys = int((stored.of_rule(name).open > 0).sum())
            report = reports.changed(change, self.applied.changed[name], open_keys)
        else:
            return
        if self.tells or open_keys:
            self.output.add_report(report)

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
        stays_from = np.where(self.ended, rows.key_at[1:], stays_from)
        stay = rows.key_at[1:] - stays_from
        kept = np.flatnonzero(stay > 0)
        new_number = np.full(remembered, -1)
        new_number[untouched] = np.arange(int(untouched.sum()))
        parts = [self._untouched_attempts(tuple(standings), new_number)]
        numbers = int(untouched.sum()) + np.arange(len(kept))
        for number, standing in enumerate(standings.values()):
            parts.append(attempts_of(number, numbers, standing, rows, stays_from, kept))
        first = bucket.first[untouched]
        chosen = np.concatenate(
            [ranges(first, bucket.rows[untouched]), layout.rows[ranges(stays_from[kept], stay[kept])]]
        )
        pool = joined([bucket.open_rows, self.released])
        left = pool.take(pa.array(chosen)) if pool is not None and len(chosen) else None
        is_new = layout.keys[kept] >= remembered
        segment = np.where(is_new, bucket.next_number + np.cumsum(is_new) - 1, 0)
        segment[~is_new] = bucket.segment[layout.keys[kept[~is_new]]]
        after = RuleBucket(
            bucket.digest,
            names,
            np.concatenate([bucket.rows[untouched], stay[kept]]),
            np.concatenate([bucket.segment[untouched], segment]),
            Attempts.joined(parts),
            left,
            bucket.stored_rows,
            bucket.next_number + int(is_new.sum()),
            bucket.segments,
        )
        new = np.minimum(stay, rows.key_at[1:] - rows.stored_end)[kept]
        appended = layout.rows[ranges(rows.key_at[1:][kept] - new, new)]
        added = pool.take(pa.array(appended)) if pool is not None and len(appended) else None
        return after.with_rows(added, np.repeat(segment, new))

    def _untouched_attempts(self, names: tuple[str, ...], new_number: Rows) -> Attempts:
        """The attempts on keys that weren't laid out, with the new numbers of rules and keys."""
        attempts = self.bucket.attempts
        new_rule = np.array([names.index(name) if name in names else -1 for name in self.bucket.rules], np.int64)
        if not len(attempts.key):
            return attempts
        moved = attempts._replace(rule=new_rule[attempts.rule], key=new_number[attempts.key])
        return moved.select((moved.rule >= 0) & (moved.key >= 0))
