"""State of a bucket + rule changes + arriving rows + watermark -> output rows + state.

Changes apply before the rows of their step. All rules share the stored rows: a row stays while some rule may need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ostinato.kernels.clock import Clock, ThreadClock
from ostinato.rule_sets.bucket_layout import RuleBucket, header_of, read_bucket
from ostinato.rule_sets.bucket_step import BucketStep
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.kept_keys import keys_kept_for_past
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import output_schema
from ostinato.rule_sets.rule_errors import as_error_of_rule
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.rule_sets.rule_set import RULES_IN_STATE, RuleSet, digest, rules_from_bytes, rules_to_bytes
from ostinato.rule_sets.rules_in_force import Applied, RuleBook
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.intake import Gate
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import check, check_columns_are
from ostinato.streams.stream_settings import Late

_CACHED_RULE_SETS = 64


@dataclass(frozen=True, slots=True)
class RulesStep(Step[pa.Table]):
    """A step. The rules are stored apart from the rest of the state, because they seldom change."""

    rules: bytes | None
    """The rules to store; None if they are those of the state."""
    is_declared_anew: bool
    """Whether the stream was started with other limits, kinds or rules since the step before."""
    rule_ns: Mapping[str, int]
    """The processor time that each rule took."""


def _no_rules() -> bytes:
    return b""


class RulesCore:
    """The rules of one stream. It holds nothing between two steps but compiled rules."""

    def __init__(
        self,
        declared: Declaration,
        fingerprint: str,
        late: Late = "drop",
        fixed: tuple[str, ...] = (),
        clock: Clock | None = None,
    ) -> None:
        """`fixed` are the changes of a static table. Every bucket applies them in its next step."""
        self.declared = declared
        self.fingerprint = fingerprint
        self.late = late
        self.fixed = fixed
        self._table = digest("\n".join(fixed).encode()) if fixed else ""
        self._declared = digest(repr((declared.limits, declared.kinds, late, self._table)).encode())
        self.clock: Clock = ThreadClock() if clock is None else clock
        self.book = RuleBook(declared)
        self.gate = Gate(declared.time[0])
        self.output = output_schema(declared)
        self._rules: dict[str, RuleSet] = {}
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
        opened, known_before, intake = self.gate.open_bucket(
            state, self.fingerprint, arrived, watermark_us, finished=finished
        )
        bucket, rules = self.opened(opened, state, read_rules)
        if intake.released is not None:
            check_columns_are(intake.released, self._columns, "a segment of waiting rows in the state of this stream")
        applied = self._applied(rules, changes)
        decided = max(watermark_us + 1, known_before + 1, intake.latest if finished else 0)
        step = BucketStep(self, bucket, applied, intake, known_before, decided, finished, reports)
        after = step.run()
        rules_after, rules_to_store = replace(applied.rules, records=step.records), None
        if rules_after != rules:
            rules_to_store = rules_to_bytes(rules_after)
            after = replace(after, digest=digest(rules_to_store))
            self._remember(after.digest, rules_after)
        stored = EMPTY
        if not finished:
            header = header_of(after, intake.known_until, self.fingerprint)
            stored = BucketState(header, after.segments, intake.waiting)
        counts = Counts(
            rows=intake.arrived,
            late_rows=intake.late_rows,
            matches=step.matches,
            open_runs=int((after.attempts.open > 0).sum()),
            buffered_rows=int(after.keys.rows.sum()) + intake.waiting_rows,
            forgotten_keys=step.forgotten_keys,
            **self._kept_for_past(after, rules_after),
        )
        wake_at = None if finished else step.wake_at(after)
        is_declared_anew = rules.declared != self._declared
        return RulesStep(step.output.table(), stored, wake_at, counts, rules_to_store, is_declared_anew, step.rule_ns)

    def _kept_for_past(self, bucket: RuleBucket, rules: RuleSet) -> dict[str, int]:
        """The keys that rules keep without an open partial match, as counts of the step. A key counts for each rule."""
        kept: dict[str, int] = {}
        for number, name in enumerate(bucket.rules):
            record = rules.records[name]
            if record.is_active:
                search = self.search_of(record.change)
                count = f"kept_for_{search.needs.kept_for.name.lower()}"
                keys = keys_kept_for_past(search, bucket.keys.rows, bucket.attempts.of_rule(number))
                kept[count] = kept.get(count, 0) + keys
        return kept

    def _applied(self, rules: RuleSet, changes: Sequence[str]) -> Applied:
        """The state says which static table was applied. A worker's memory can't: it isn't there when a batch is
        repeated."""
        if self._table and rules.table != self._table:
            rules, changes = replace(rules, table=self._table), [*self.fixed, *changes]
        rules = replace(rules, declared=self._declared)
        return self.book.apply(rules, changes) if changes else Applied(rules)

    def opened(
        self, header: pa.RecordBatch | None, state: BucketState, read_rules: Callable[[], bytes]
    ) -> tuple[RuleBucket, RuleSet]:
        """The bucket, and its rules. Raises STATE_FORMAT if they don't belong together."""
        bucket = read_bucket(header, state.open_rows, self.declared)
        rules = self._rules_of(bucket.digest, read_rules)
        check(set(bucket.rules) <= set(rules.records), RULES_IN_STATE, "rules of a bucket are missing")
        return bucket, rules

    @property
    def _columns(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in self.declared.schema}

    def search_of(self, change: RuleChange) -> RuleSearch:
        """The rule with its kernels. Raises the error of a rule that this version of Ostinato can't compile."""
        if change not in self._searches:
            if len(self._searches) > 4 * self.declared.limits.max_rules:
                self._searches.clear()
            rule = self.book.compiled(change)
            try:
                self._searches[change] = RuleSearch(rule)
            except Exception as error:
                raise as_error_of_rule(error) from error
        return self._searches[change]

    def _rules_of(self, digest_of_rules: str, read_rules: Callable[[], bytes]) -> RuleSet:
        if not digest_of_rules:
            return RuleSet()
        if digest_of_rules not in self._rules:
            rules = read_rules()
            check(digest(rules) == digest_of_rules, RULES_IN_STATE, "they aren't those of the bucket")
            self._remember(digest_of_rules, rules_from_bytes(rules))
        return self._rules[digest_of_rules]

    def _remember(self, digest_of_rules: str, rules: RuleSet) -> None:
        if len(self._rules) >= _CACHED_RULE_SETS:
            self._rules.clear()
        self._rules[digest_of_rules] = rules
