"""State of a bucket + rule changes + arriving rows + watermark -> output rows + state.

Changes apply before the rows of their step. All rules share the stored rows: a row stays while some rule may need it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.stream.key_layout import KeyLayout, key_numbers, lay_out
from ostinato.errors import MatchError, OstinatoError
from ostinato.expressions.values.value_order import OrderKey
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import order_rows
from ostinato.rule_sets.bucket_layout import Attempts, RuleBucket, header_of, read_bucket
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import output_schema
from ostinato.rule_sets.rule_output import OutputTable
from ostinato.rule_sets.rule_search import KeyRows, RuleSearch, Standing
from ostinato.rule_sets.rules_in_force import (
    Applied,
    Records,
    Report,
    RuleBook,
    RuleRecord,
    records_from_bytes,
    records_to_bytes,
)
from ostinato.streams.bucket_state import EMPTY, BucketState, Rows, read_rows, segments_of
from ostinato.streams.intake import Gate, Intake
from ostinato.streams.record_batches import joined
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import Section
from ostinato.streams.stream_settings import Late

_NEVER = np.iinfo(np.int64).max
_CACHED_RULE_SETS = 64


@dataclass(frozen=True, slots=True)
class RulesStep(Step[pa.Table]):
    """A step. The rules are stored apart from the rest of the state, because they seldom change."""

    rules: bytes | None
    """The rules to store; None if they are those of the state."""


def _no_rules() -> bytes:
    return b""


class RulesCore:
    """The rules of one stream. It holds nothing between two steps but compiled rules."""

    def __init__(
        self, declared: Declaration, fingerprint: str, late: Late = "drop", fixed: tuple[str, ...] = ()
    ) -> None:
        """`fixed` are changes that every bucket applies before its first rows."""
        self.declared = declared
        self.fingerprint = fingerprint
        self.late = late
        self.fixed = fixed
        self._with_fixed = set[str]()
        self.book = RuleBook(declared)
        self.gate = Gate(declared.time[0])
        self.output = output_schema(declared)
        self._records: dict[str, Records] = {}
        self._searches: dict[RuleChange, RuleSearch] = {}

    def advance(
        self,
        state: BucketState,
        arrived: pa.Table | None,
        watermark_us: int,
        *,
        finished: bool = False,
        changes: Sequence[str] = (),
        reports: bool = True,
        read_rules: Callable[[], bytes] = _no_rules,
    ) -> RulesStep:
        """One step (`StreamCore.advance`). `changes` are JSON texts. `reports`: whether this bucket tells what happened
        to rules; only one bucket does. `read_rules` reads the stored rules."""
        header, known_before, intake = self.gate.open_bucket(
            state, self.fingerprint, arrived, watermark_us, finished=finished
        )
        bucket = read_bucket(header, read_rows(state.open_rows, Section.OPEN_ROWS))
        records = self._records_of(bucket.digest, read_rules)
        if self.fixed and bucket.digest not in self._with_fixed:
            changes = [*self.fixed, *changes]
        applied = self.book.apply(records, changes) if changes else Applied(records)
        decided = max(watermark_us + 1, known_before + 1, intake.latest if finished else 0)
        step = _BucketStep(self, bucket, applied, intake, known_before, decided, finished, reports)
        after = step.run()
        digest, rules = bucket.digest, None
        if step.records != records:
            rules = records_to_bytes(step.records)
            digest = hashlib.sha256(rules).hexdigest()[:16]
            self._remember(digest, step.records)
        self._with_fixed.add(digest)
        after = RuleBucket(digest, after.rules, after.rows, after.attempts, after.open_rows)
        stored = EMPTY
        if not finished:
            same_rows = after.open_rows is bucket.open_rows
            open_rows = state.open_rows if same_rows else segments_of(after.open_rows, Section.OPEN_ROWS)
            stored = BucketState(header_of(after, intake.known_until, self.fingerprint), open_rows, intake.waiting)
        counts = Counts(
            rows=intake.arrived,
            late_rows=intake.late_rows,
            matches=step.matches,
            open_runs=int((after.attempts.open > 0).sum()),
            buffered_rows=int(after.rows.sum()) + intake.waiting_rows,
        )
        wake_at = None if finished else step.wake_at(after)
        return RulesStep(step.output.table(), stored, wake_at, counts, rules)

    def search_of(self, change: RuleChange) -> RuleSearch:
        """The rule with its kernels. Raises the error of a rule that this version of Ostinato can't compile."""
        if change not in self._searches:
            if len(self._searches) > 4 * self.declared.limits.max_rules:
                self._searches.clear()
            self._searches[change] = RuleSearch(self.book.compiled(change))
        return self._searches[change]

    def _records_of(self, digest: str, read_rules: Callable[[], bytes]) -> Records:
        if not digest:
            return {}
        if digest not in self._records:
            self._remember(digest, records_from_bytes(read_rules()))
        return self._records[digest]

    def _remember(self, digest: str, records: Records) -> None:
        if len(self._records) >= _CACHED_RULE_SETS:
            self._records.clear()
        self._records[digest] = records


class _BucketStep:
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
        self.matches = 0

    def run(self) -> RuleBucket:
        """The bucket after the step. Output rows and counts are collected on the way."""
        if self.intake.late is not None and self.core.late == "show":
            self.output.add_late(self.intake.late)
        if self.reports:
            for report in self.applied.rejected:
                self.output.add_report(report)
        self._end_removed()
        layout = self._layout()
        rows = self._rows(layout)
        names = tuple(name for name, record in sorted(self.records.items()) if record.is_active)
        stays_from = rows.key_at[1:].copy()
        standings: dict[str, Standing] = {}
        for name in names:
            outcome = self._searched(name, layout, rows)
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
        due = np.full(len(keys.rows), self.finished or self.applied.touches_runs)
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
        pool = joined([self.bucket.open_rows, self.intake.released])
        if pool is None:
            empty = self.declared.schema.empty_table()
            columns = {name: empty.column(name).combine_chunks() for name in empty.column_names}
            return KeyRows(columns, np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))
        laid_out = pool.take(pa.array(layout.rows))
        columns = dict(zip(laid_out.schema.names, laid_out.columns, strict=True))
        at_hand = np.zeros(len(layout.keys), np.int64)
        is_remembered = layout.keys < len(self.bucket.rows)
        at_hand[is_remembered] = self.bucket.rows[layout.keys[is_remembered]]
        return KeyRows(columns, self.core.gate.times(laid_out), layout.key_at, at_hand)

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

    def _searched(self, name: str, layout: KeyLayout, rows: KeyRows) -> tuple[Standing, Rows] | None:
        """Where the rule stands after the step, and the rows that it needs; None if it was suspended."""
        record = self.records[name]
        standing = self._standing(name, layout, rows)
        try:
            search = self.core.search_of(record.change)
            self._tell_change(name, rows, standing)
            outcome = search.run(rows, standing, self.intake.known_until, finished=self.finished)
        except OstinatoError as failure:
            self._suspend(record, failure)
            return None
        self.matches += outcome.matches
        for row, error in sorted(outcome.failed.items()):
            self.output.add_error(record.change, error, rows, row)
        self.output.add_matches(search.rule, outcome.results)
        too_large = self._too_large(search, rows, outcome.standing, self._open_elsewhere(name, layout))
        if too_large is not None:
            self._suspend(record, too_large)
            return None
        return outcome.standing, outcome.needed_from

    def _suspend(self, record: RuleRecord, failure: OstinatoError) -> None:
        change = record.change
        self.records[change.id] = RuleRecord(change, record.seen, suspended=True)
        until = "the rule is suspended for the keys of this bucket until a new version comes"
        self.output.add_report(Report("rule_suspended", change.id, change.version, f"{failure.one_line()}; {until}"))

    def _standing(self, name: str, layout: KeyLayout, rows: KeyRows) -> Standing:
        """Where the rule stands before the step: as stored, or where a new version starts."""
        first, stored_end = rows.key_at[:-1], rows.key_at[:-1] + rows.stored
        zeros = np.zeros(len(first), np.int64)
        change = self.records[name].change
        if name in self.applied.added:
            begin = first if change.options.start == "kept" else stored_end
            return Standing(begin, begin, zeros, begin, begin)
        if name in self.applied.changed and change.options.start == "new":
            return Standing(stored_end, stored_end, zeros, stored_end, stored_end)
        standing = self._stored_standing(name, layout, rows)
        if name in self.applied.changed:
            return Standing(standing.visible_from, standing.start, zeros, standing.start, standing.start)
        return standing

    def _stored_standing(self, name: str, layout: KeyLayout, rows: KeyRows) -> Standing:
        """Where the rule stood after the step before."""
        attempts, key = self._attempts_of(name, layout)
        first, stored_end = rows.key_at[:-1], rows.key_at[:-1] + rows.stored
        standing = Standing(first.copy(), stored_end.copy(), np.zeros_like(first), stored_end.copy(), first.copy())
        standing.visible_from[key] += attempts.hidden
        standing.start[key] -= attempts.open
        standing.number[key] = attempts.number
        standing.reported_until[key] -= attempts.unreported
        standing.covered_until[key] += attempts.covered
        return standing

    def _attempts_of(self, name: str, layout: KeyLayout) -> tuple[Attempts, Rows]:
        """The stored attempts of a rule on laid-out keys, and for each the position of its key in the layout."""
        if name not in self.bucket.rules:
            return Attempts.none(), np.empty(0, np.int64)
        attempts = self.bucket.attempts.of_rule(self.bucket.rules.index(name))
        position = np.full(len(self.bucket.rows), -1)
        is_remembered = layout.keys < len(self.bucket.rows)
        position[layout.keys[is_remembered]] = np.flatnonzero(is_remembered)
        attempts = attempts.select(position[attempts.key] >= 0)
        return attempts, position[attempts.key]

    def _open_elsewhere(self, name: str, layout: KeyLayout) -> int:
        """The open rows of a rule in keys that aren't laid out."""
        if name not in self.bucket.rules:
            return 0
        attempts = self.bucket.attempts.of_rule(self.bucket.rules.index(name))
        return int(attempts.open.sum() - self._attempts_of(name, layout)[0].open.sum())

    def _too_large(self, search: RuleSearch, rows: KeyRows, standing: Standing, elsewhere: int) -> MatchError | None:
        """The error if the rule's open rows take more bytes than its limit, by the average size of a row."""
        open_rows = int((rows.key_at[1:] - standing.start).sum()) + elsewhere
        row_bytes = sum(column.nbytes for column in rows.columns.values()) / max(rows.count, 1)
        if self.finished or open_rows * row_bytes <= search.rule.max_state_bytes:
            return None
        return MatchError(
            "RULE_STATE_TOO_LARGE",
            f"its open partial matches hold {open_rows:,} rows, more than {search.rule.max_state_bytes:,} bytes",
            hint="bound the pattern with WITHIN, tighten DEFINE, or raise max_state_bytes",
        )

    # --- changes ---

    def _end_removed(self) -> None:
        """Ends the open partial matches of removed rules."""
        for name, before in sorted(self.applied.removed.items()):
            nothing_new = lay_out(
                self.bucket.keys, np.ones(len(self.bucket.rows), np.bool_), np.empty(0, np.int64), np.empty(0, np.int64)
            )
            attempts, _ = self._attempts_of(name, nothing_new)
            open_keys = int((attempts.open > 0).sum())
            change = self.records[name].change
            message = "removed"
            if open_keys:
                message += f"; open partial matches of {open_keys:,} keys ended"
            if open_keys and change.options.at_end == "finish":
                message += " as at the end of input"
                self._finish_removed(name, before, nothing_new)
            if self.reports or open_keys:
                self.output.add_report(Report("rule_changed", name, change.version, message))

    def _finish_removed(self, name: str, before: RuleChange, layout: KeyLayout) -> None:
        """The rows that the end of input would give for the stored rows."""
        rows = self._rows(layout)
        try:
            search = self.core.search_of(before)
            outcome = search.run(rows, self._stored_standing(name, layout, rows), self.known_before, finished=True)
        except OstinatoError as failure:
            self.output.add_report(Report("rule_suspended", name, before.version, failure.one_line()))
            return
        self.matches += outcome.matches
        self.output.add_matches(search.rule, outcome.results)

    def _tell_change(self, name: str, rows: KeyRows, standing: Standing) -> None:
        """Reports an added or changed rule, and what it starts with."""
        change = self.records[name].change
        open_keys = int((standing.start < rows.key_at[:-1] + rows.stored).sum())
        if name in self.applied.added:
            message = "added; it sees the rows from now on"
            if change.options.start == "kept":
                message = f"added; it starts with the rows that {open_keys:,} keys still hold"
        elif name in self.applied.changed:
            version = self.applied.changed[name].version
            message = f"changed from version {version}; open partial matches of {open_keys:,} keys are searched anew"
            if change.options.start == "new":
                open_keys = int((self._attempts_of_all(name).open > 0).sum())
                message = f"changed from version {version}; open partial matches of {open_keys:,} keys ended"
        else:
            return
        if self.reports or open_keys:
            self.output.add_report(Report("rule_changed", name, change.version, message))

    def _attempts_of_all(self, name: str) -> Attempts:
        if name not in self.bucket.rules:
            return Attempts.none()
        return self.bucket.attempts.of_rule(self.bucket.rules.index(name))

    # --- the bucket after the step ---

    def _after(self, layout: KeyLayout, rows: KeyRows, standings: dict[str, Standing], stays_from: Rows) -> RuleBucket:
        bucket = self.bucket
        names = tuple(standings)
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
        parts = [self._untouched_attempts(names, new_number)]
        numbers = int(untouched.sum()) + np.arange(len(kept))
        for number, standing in enumerate(standings.values()):
            parts.append(_attempts(number, numbers, standing, rows.key_at[1:], stays_from, kept))
        first = bucket.first[untouched]
        chosen = np.concatenate(
            [ranges(first, bucket.rows[untouched]), layout.rows[ranges(stays_from[kept], stay[kept])]]
        )
        pool = joined([bucket.open_rows, self.intake.released])
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
