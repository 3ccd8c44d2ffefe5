"""One step of one bucket of rules: what the rules find in its rows, what changed, and the bucket after the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError, OstinatoError
from ostinato.kernels.clock import Work
from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets import change_reports as reports
from ostinato.rule_sets.bucket_after import Stands, StepRows, bucket_after
from ostinato.rule_sets.bucket_layout import RuleBucket, StoredAttempts
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.following import Followed
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.row_bytes import bytes_until
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_errors import as_error_of_rule
from ostinato.rule_sets.rule_output import OutputTable
from ostinato.rule_sets.rule_search import RuleOutcome, RuleSearch
from ostinato.rule_sets.rule_set import RuleRecord
from ostinato.rule_sets.rules_in_force import Applied
from ostinato.rule_sets.standings import Standing, standing_at, stored_standing
from ostinato.rule_sets.step_layout import Laid, StepLayout
from ostinato.rule_sets.step_rows import NO_ROWS, lay_out_rows, released_rows
from ostinato.rule_sets.suppressed_results import mark_suppressed
from ostinato.streams.bucket_state import Rows
from ostinato.streams.intake import Intake

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
        self.released = NO_ROWS
        self._most_bytes: Rows | None = None
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
        names = tuple(name for name, record in sorted(self.records.items()) if record.is_active)
        self.released = released_rows(self.intake.released, self.bucket.keys, self.declared)
        laid = self._laid_out(names)
        step, rows, self.ended, self.forgotten_keys = laid.rows, laid.rows.rows, laid.ended, laid.forgotten_keys
        stays_from = rows.key_at[1:].copy()
        stands: dict[str, Stands] = {}
        stored = StoredAttempts(self.bucket, step.keys)
        for name in names:
            began_ns = self.core.clock.now_ns()
            outcome = self._searched(name, stored, step, laid.followed.get(name))
            self.rule_ns[name] = self.core.clock.spent_ns(began_ns, _NO_WORK) + self.rule_ns.get(name, 0)
            if outcome is not None:
                stands[name], needed_from = outcome
                np.minimum(stays_from, needed_from, out=stays_from)
        stays_from = np.where(self.ended, rows.key_at[1:], stays_from)
        # A rule that was suspended in this step is named once more: the next step frees its rows of all keys.
        named = (*stands, *self.suspended)
        if not len(step.keys) and named == self.bucket.rules and step.most_recent == self.bucket.keys.most_recent:
            return self.bucket
        return bucket_after(self.bucket, step, stands, named, stays_from, self.declared)

    # --- rows of the step ---

    def _laid_out(self, names: Sequence[str]) -> Laid:
        """The rows of the keys with new rows, with an expired timer, or which changed rules concern."""
        bucket = self.bucket
        frees_rows = any(not self.records[name].is_active for name in bucket.rules)
        due = np.full(bucket.keys.count, self.applied.touches_runs or frees_rows)
        timers = self._timers(bucket)
        due[timers.key[(timers.at > self.known_before) & (timers.at <= self.intake.known_until)]] = True
        searches = {name: search for name in names if (search := self._search_of(name)) is not None}
        known_until, clock = self.intake.known_until, self.core.clock
        layout = StepLayout(bucket, self.released, searches, self.declared, known_until, self.finished, clock)
        laid = layout.lay_out(due)
        self.rule_ns |= layout.rule_ns
        return laid

    def _search_of(self, name: str) -> RuleSearch | None:
        """None for a rule that `_searched` suspends."""
        try:
            return self.core.search_of(self.records[name].change)
        except OstinatoError:
            return None

    def _timers(self, bucket: RuleBucket) -> _Timers:
        """The times up to which rows must be known for the state of a key to change without new rows."""
        attempts, first_us = bucket.attempts, bucket.keys.first_us
        within = np.array([self._within_us(name) for name in bucket.rules], np.int64)[attempts.rule]
        timed = (attempts.open > 0) & (within < _NEVER)
        begins = first_us[attempts.key[timed]] + attempts.began[timed]
        expires = np.minimum(begins, _NEVER - 1 - within[timed]) + within[timed]  # WITHIN ends the first open start
        is_quiet = attempts.quiet > 0
        shows = first_us[attempts.key[is_quiet]] + attempts.quiet[is_quiet]
        keys, at = [attempts.key[timed], attempts.key[is_quiet]], [expires, shows]
        if self.declared.forget_us is not None and bucket.keys.most_recent:
            keys.append(np.arange(bucket.keys.count))
            at.append(bucket.keys.last_us(self.core.gate) + self.declared.forget_us)
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

    def _searched(
        self, name: str, stored: StoredAttempts, step: StepRows, followed: Followed | None
    ) -> tuple[Stands, Rows] | None:
        """Where the rule stands after the step, and the rows that it needs; None if it was suspended."""
        change, rows = self.records[name].change, step.rows
        try:
            search = self.core.search_of(change)
            standing = self._standing(name, stored, rows)
            self._tell_change(name, stored, rows, standing)
            if not rows.count:
                return Stands(search, standing, np.full(len(rows.missing), NO_TIME)), rows.key_at[1:]
            outcome = self._outcome(name, search, standing, stored, step, followed)
            outcome = self._with_suppressed(search.rule, rows, outcome)
            self._add_outcome(search.rule, rows, outcome)
            self._check_bytes(search, step, outcome.needed_from, name, stored)
        except Exception as error:
            self.records[name] = RuleRecord(change, suspended=True)
            self.suspended.append(name)
            self.output.add_report(reports.suspended(change, as_error_of_rule(error)))
            return None
        return self._stands(name, search, outcome.standing, stored, rows), outcome.needed_from

    def _outcome(
        self,
        name: str,
        search: RuleSearch,
        standing: Standing,
        stored: StoredAttempts,
        step: StepRows,
        followed: Followed | None,
    ) -> RuleOutcome:
        """The outcome of searching the keys. Where open starts are only followed, the rule finds nothing."""
        rows, known_until = step.rows, self.intake.known_until
        if followed is None or not followed.keys.any():
            return search.run(rows, standing, known_until, self.ended)
        follows, end = followed.keys, rows.key_at[1:]
        beside = standing._replace(start=np.where(follows, end, standing.start))
        outcome = search.run(rows, beside, known_until, self.ended, ~follows)
        before = standing._replace(reported_until=end, live=followed.live)
        merged = (np.where(follows, old, new) for old, new in zip(before, outcome.standing, strict=True))
        kept = search.kept_rows(self.bucket.keys.rows, stored.of_rule(name))
        needed_from = outcome.needed_from.copy()
        needed_from[follows] = rows.stored_end[follows] - kept[step.keys[follows]]
        return replace(outcome, standing=Standing(*merged), needed_from=needed_from)

    def _stands(
        self, name: str, search: RuleSearch, standing: Standing, stored: StoredAttempts, rows: KeyRows
    ) -> Stands:
        """With the times of the first open starts. Those of starts that aren't here are known from before."""
        began_us = np.full(len(rows.missing), NO_TIME)
        if search.within_us is not None:
            is_open = standing.start < rows.key_at[1:]
            is_here = is_open & (standing.start >= rows.key_at[:-1])
            began_us[is_here] = rows.times[standing.start[is_here]]
            attempts, position = stored.laid_out(name)
            of_stored = np.full(len(began_us), NO_TIME)
            of_stored[position] = stored.first_us[attempts.key] + attempts.began
            began_us = np.where(is_open & ~is_here, of_stored, began_us)
        return Stands(search, standing, began_us)

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
        self, search: RuleSearch, step: StepRows, needed_from: Rows, name: str, stored: StoredAttempts
    ) -> None:
        """Raises RULE_STATE_TOO_LARGE if the rows that the rule keeps take more bytes than its limit."""
        if self.finished:
            return
        most, kept = search.rule.max_state_bytes, np.zeros(self.bucket.keys.count, np.int64)
        if stored.is_elsewhere.any():
            of_all = search.kept_rows(self.bucket.keys.rows, stored.of_rule(name))
            kept = np.where(stored.is_elsewhere, of_all, 0)
        at_most = int(self.bucket.keys.state_bytes[kept > 0].sum())
        at_most += int(self._bytes_of(step)[needed_from < step.rows.key_at[1:]].sum())
        if at_most <= most:
            return
        taken = self._exact_bytes(step, needed_from, kept)
        if taken > most:
            raise MatchError(
                "RULE_STATE_TOO_LARGE",
                f"the rows that it keeps take {taken:,.0f} bytes, more than {most:,}",
                hint="bound the pattern with WITHIN, tighten DEFINE, use a smaller PREV, or raise max_state_bytes",
            )

    def _bytes_of(self, step: StepRows) -> Rows:
        """At most so many bytes may stay of each laid-out key."""
        if self._most_bytes is None:
            self._most_bytes = step.bytes_from(step.rows.key_at[:-1], self.bucket.keys)
        return self._most_bytes

    def _exact_bytes(self, step: StepRows, needed_from: Rows, kept: Rows) -> float:
        """The bytes of the laid-out keys from `needed_from` on, and of the last `kept` rows of each stored key."""
        rows, keys = step.rows, self.bucket.keys
        taken = float(rows.bytes_from(np.maximum(needed_from, rows.key_at[:-1])).sum())
        end = np.cumsum(keys.rows)
        older = np.maximum(rows.key_at[:-1] - needed_from, 0)
        chosen = np.flatnonzero(older)
        older_end = end[step.keys[chosen]] - rows.stored[chosen]
        begin = np.concatenate([end - kept, older_end - older[chosen]])
        until = np.concatenate([end, older_end])
        if (until > begin).any():
            taken += float((self._stored_bytes_until[until] - self._stored_bytes_until[begin]).sum())
        return taken

    @cached_property
    def _stored_bytes_until(self) -> NDArray[np.float64]:
        """For each stored row, and for the end, the bytes of all rows before it. Reads the segments."""
        count = self.bucket.keys.count
        rows = self.bucket.rows_of(np.arange(count), self.declared)
        return bytes_until([] if rows is None else rows.columns, 0 if rows is None else rows.num_rows)

    # --- changes ---

    def _end_removed(self) -> None:
        """Ends the open partial matches of removed rules."""
        if self.tells:
            for name in sorted(self.applied.removed_in_vain):
                self.output.add_report(reports.removed_in_vain(self.records[name].change))
        if not self.applied.removed:
            return
        all_keys = np.arange(self.bucket.keys.count)
        stored = StoredAttempts(self.bucket, all_keys)
        for name, before in sorted(self.applied.removed.items()):
            open_keys = int((stored.of_rule(name).open > 0).sum())
            change = self.records[name].change
            if open_keys and change.options.at_end == "finish":
                self._finish_removed(name, before, stored, self._all_rows())
            if self.tells or open_keys:
                self.output.add_report(reports.removed(change, open_keys))

    def _all_rows(self) -> KeyRows:
        keys = self.bucket.keys
        return lay_out_rows(self.bucket, np.arange(keys.count), keys.has_older_rows, NO_ROWS, self.declared)

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
