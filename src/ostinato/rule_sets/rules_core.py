"""State of a bucket + rule changes + arriving rows + watermark -> output rows + state.

Changes apply before the rows of their step. All rules share the stored rows: a row stays while some rule may need it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.kernels.clock import Clock, ThreadClock
from ostinato.rows.column_names import ORDINAL
from ostinato.rule_sets.bucket_layout import RuleBucket, header_of, read_bucket
from ostinato.rule_sets.bucket_step import BucketStep
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import output_schema
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.rule_sets.rules_in_force import (
    RULES_IN_STATE,
    Applied,
    Records,
    RuleBook,
    records_from_bytes,
    records_to_bytes,
)
from ostinato.streams.bucket_state import EMPTY, BucketState, read_rows, segments_of
from ostinato.streams.intake import Gate
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import Section, check, check_columns_are
from ostinato.streams.stream_settings import Late

_CACHED_RULE_SETS = 64


@dataclass(frozen=True, slots=True)
class RulesStep(Step[pa.Table]):
    """A step. The rules are stored apart from the rest of the state, because they seldom change."""

    rules: bytes | None
    """The rules to store; None if they are those of the state."""
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
        """`fixed` are changes that every bucket applies before its first rows."""
        self.declared = declared
        self.fingerprint = fingerprint
        self.late = late
        self.fixed = fixed
        self.clock: Clock = ThreadClock() if clock is None else clock
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
        bucket, records = self.opened(header, state, read_rules)
        if intake.released is not None:
            check_columns_are(intake.released, self._columns, "a segment of waiting rows in the state of this stream")
        if self.fixed and bucket.digest not in self._with_fixed:
            changes = [*self.fixed, *changes]
        applied = self.book.apply(records, changes) if changes else Applied(records)
        decided = max(watermark_us + 1, known_before + 1, intake.latest if finished else 0)
        step = BucketStep(self, bucket, applied, intake, known_before, decided, finished, reports)
        after = step.run()
        digest, rules = bucket.digest, None
        if step.records != records:
            rules = records_to_bytes(step.records)
            digest = _digest(rules)
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
        return RulesStep(step.output.table(), stored, wake_at, counts, rules, step.rule_ns)

    def opened(
        self, header: pa.RecordBatch | None, state: BucketState, read_rules: Callable[[], bytes]
    ) -> tuple[RuleBucket, Records]:
        """The bucket, and its rules. Raises STATE_FORMAT if they don't belong together."""
        bucket = read_bucket(header, read_rows(state.open_rows, Section.OPEN_ROWS))
        records = self._records_of(bucket.digest, read_rules)
        check(set(bucket.rules) <= set(records), RULES_IN_STATE, "rules of a bucket are missing")
        if bucket.open_rows is not None:
            columns = self._columns | {ORDINAL: pa.int64()}
            check_columns_are(bucket.open_rows, columns, "a segment of open rows in the state of this stream")
        return bucket, records

    @property
    def _columns(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in self.declared.schema}

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
            rules = read_rules()
            check(_digest(rules) == digest, RULES_IN_STATE, "they aren't those of the bucket")
            self._remember(digest, records_from_bytes(rules))
        return self._records[digest]

    def _remember(self, digest: str, records: Records) -> None:
        if len(self._records) >= _CACHED_RULE_SETS:
            self._records.clear()
        self._records[digest] = records


def _digest(rules: bytes) -> str:
    return hashlib.sha256(rules).hexdigest()[:16]
