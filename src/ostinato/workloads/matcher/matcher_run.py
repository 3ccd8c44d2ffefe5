"""The rows of one call, matched chunk by chunk: the driver of the matcher's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.search_failures import condition_failure
from ostinato.errors import MatchError
from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.workloads.matcher import kernel_progress as kp
from ostinato.workloads.matcher.births import SAMPLES, Samples
from ostinato.workloads.matcher.ledger import Buckets, KeepMasks
from ostinato.workloads.matcher.matcher_state import MatcherState, kept_state, restored_store
from ostinato.workloads.matcher.matcher_state_checks import check_matches
from ostinato.workloads.matcher.materialise import (
    FIRST_MATCHES,
    FIRST_ROWS,
    MATCHES,
    PatternMatches,
    by_pattern,
    grown_buffer,
    new_match_buffer,
)
from ostinato.workloads.matcher.outcomes import FAILED, FINISHED, MORE_MATCHES, Rules
from ostinato.workloads.matcher.plan_events import PlanEvents, rows_of
from ostinato.workloads.matcher.plan_tables import words_for
from ostinato.workloads.matcher.register_reads import NO_ROW
from ostinato.workloads.matcher.run_checks import RunChecks
from ostinato.workloads.matcher.store import (
    CLASS,
    FIRST_ROOM,
    LENGTH,
    LISTED,
    SERIAL,
    SPARE,
    STATUS,
    TAG,
    USED,
    grown,
    new_lists,
    new_store,
)
from ostinato.workloads.matcher.upkeep import classify, evict, note_rows, slots_now
from ostinato.workloads.matcher.visits import KernelKeepMasks

if TYPE_CHECKING:
    from ostinato.workloads.matcher.shared_matcher import SharedMatcher

_NO_ROWS = np.zeros(0, np.bool_)
_MANY = 1 << 60


class Pause(NamedTuple):
    """Limits of one call. The kernel stops after the row with which it reaches one. It matches at least one row."""

    work: int = _MANY
    """Visits and checks."""
    live: int = _MANY
    """Living partial matches."""


NO_PAUSE = Pause()


def everything_kept(slots: int, patterns: int) -> KeepMasks:
    return KeepMasks(np.full((2, slots, words_for(patterns)), ~np.uint64(0), np.uint64), np.zeros(slots, np.uint64))


class MatcherRun:
    """The rows of one call. `ledger` holds live arrays that `advance` updates; `rebucket` makes new ones."""

    def __init__(
        self, matcher: SharedMatcher, events: PlanEvents, state: MatcherState | None, buckets: Buckets
    ) -> None:
        self.matcher = matcher
        self.prepared = matcher.prepared(tuple(values.dtype.kind == "f" for values in events.values))
        plan = self.plan = self.prepared.tables
        self.rows = rows_of(events, self.prepared)
        sequences = int(events.sequence.max()) + 1 if len(events.sequence) else 0
        absences = self.prepared.absences
        by_row = (len(events.time), absences) if self.prepared.segments_check_absences else (0, 0)
        self.lists = new_lists(sequences, plan.node_count, absences, by_row)
        note_rows(events.first_new, self.rows.positions, self.rows.fulfilled, plan.absence_of, self.lists)
        if state is None:
            self.store = new_store(FIRST_ROOM, matcher.shape)
        else:
            check_matches(state, plan, matcher.shape, buckets, self.rows.positions, events.first_new)
            self.store = restored_store(state, plan, self.rows.positions, self.lists, matcher.shape)
        self.samples = _samples(state, buckets)
        rows_before = int(state.counters[1]) if state else 0
        self.rules = Rules(matcher.ages, matcher.counting, rows_before - events.first_new)
        self.checks = matcher.run_checks(plan, events)
        self.match_buffer = new_match_buffer(FIRST_MATCHES, FIRST_ROWS)
        self.progress = np.zeros(kp.PROGRESS, np.int64)
        self.progress[kp.NEXT_ROW], self.progress[kp.CONDITION_AT] = events.first_new, kp.NEW_ROW
        if state:
            self.progress[kp.SINCE_SWEEP], self.progress[kp.LEFT_BY_SWEEP] = state.counters[2:]
        self._keep_masks: KeepMasks | None = None
        self._kernel_masks: KernelKeepMasks
        self.rebucket(buckets)

    def advance(
        self,
        until_row: int,
        keep_masks: KeepMasks | None,
        admitted: NDArray[np.bool_] | None = None,
        pause: Pause = NO_PAUSE,
    ) -> int:
        """Matches the rows up to `until_row`, or up to the pause, and returns the row that it reached. `keep_masks` is
        never changed in place; None: everything is kept.

        `admitted`: [row of the call] whether it may become part of a match. Absences see all rows.

        Raises TOO_MANY_PARTIAL_MATCHES, TOO_MANY_MATCHES, and the errors of the conditions.
        """
        next_row, rows = int(self.progress[kp.NEXT_ROW]), len(self.rows.positions.time)
        if not next_row <= until_row <= rows:  # the kernel reads rows without checking that they exist
            raise ValueError(f"rows up to {until_row} can't be matched: {next_row} of {rows} were matched before")
        kernel_masks = self._for_kernel(keep_masks)._replace(admitted=_NO_ROWS if admitted is None else admitted)
        self.progress[kp.WORK_LEFT], self.progress[kp.MAX_LIVE] = pause.work, pause.live
        while True:
            status = self.matcher.kernel(
                until_row,
                kernel_masks,
                self.plan,
                self.rows,
                self.store,
                self.lists,
                self.ledger,
                self.buckets,
                self.match_buffer,
                self.checks,
                self.samples,
                self.rules,
                self.progress,
                stop_flag(),
            )
            check_stopped()
            self._check_matches()
            if status == FINISHED:
                return int(self.progress[kp.NEXT_ROW])
            self._make_room(status, pause.live)

    @property
    def live(self) -> int:
        """Present partial matches, with those that are only kept for their children."""
        return int(self.store.counts[USED] - self.store.counts[SPARE])

    @property
    def has_paused(self) -> bool:
        """Whether the last call reached its pause, possibly with its last row."""
        return bool(self.progress[kp.WORK_LEFT] <= 0 or self.live > self.progress[kp.MAX_LIVE])

    @property
    def bytes_each(self) -> int:
        """Memory of one partial match."""
        return sum(array.nbytes // len(array) for array in self.store if len(array) == self.store.room)

    def keep_best(self, most: int, rank: NDArray[np.int64]) -> None:
        """Drops partial matches of the lowest rank ([slot]) until at most `most` live; of equal ones those with the
        highest tags."""
        store, row = self.store, int(self.progress[kp.NEXT_ROW]) - 1
        while self.live > most:
            listed_matches = np.flatnonzero(store.ancestry[: store.counts[USED], STATUS] == LISTED)
            if not len(listed_matches):
                return
            slots = np.empty(len(listed_matches), np.int64)
            slots_now(listed_matches, row, self.plan, self.rows.positions, store, self.lists, self.matcher.ages, slots)
            keys = (rank[slots] << 32) - store.links[listed_matches, TAG]
            worst = _lowest(keys, store.serial[listed_matches], self.live - most)
            # Parents go only with their children, so one round may not be enough.
            positions, nodes = self.rows.positions, self.plan.node_count
            evict(listed_matches[worst], slots[worst], positions, store, self.lists, self.ledger, nodes)

    def _check_matches(self) -> None:
        most = self.matcher.limits.most_matches
        if self.match_buffer.counts[MATCHES] > most:
            raise MatchError(
                "TOO_MANY_MATCHES",
                f"there are more than {most:,} matches in one task",
                hint="bound them with WITHIN, tighten WHERE, or count them",
            )

    def _make_room(self, status: int, most_live: int) -> None:
        limits, store = self.matcher.limits, self.store
        if status == FAILED:
            error = condition_failure(int(self.progress[kp.FAILURE]), "WHERE")
            error.row = int(self.progress[kp.NEXT_ROW])
            raise error
        if status == MORE_MATCHES:
            ends = int(np.diff(self.plan.ends.at).max())
            longest = int(store.links[: store.counts[USED], LENGTH].max(initial=0)) + self.plan.node_count
            self.match_buffer = grown_buffer(self.match_buffer, ends, ends * 2 * longest)
        elif store.room >= limits.max_partial_matches:
            raise MatchError(
                "TOO_MANY_PARTIAL_MATCHES",
                f"there are more than {limits.max_partial_matches:,} partial matches at one time",
                hint="bound the matches with WITHIN, tighten WHERE, give a bound, or raise max_partial_matches",
            )
        else:
            enough = max(most_live, store.room) * 5 // 4 + 16  # a row may make more than may live
            self.store = grown(store, min(2 * store.room, enough, limits.max_partial_matches))

    def _for_kernel(self, keep_masks: KeepMasks | None) -> KernelKeepMasks:
        if keep_masks is None:
            keep_masks = self._everything
        if keep_masks is not self._keep_masks:
            patterns, class_at = self.plan.nodes.patterns, self.buckets.class_at
            masks = keep_masks.masks.view(np.int64)
            node = np.repeat(np.arange(self.plan.node_count), np.diff(class_at) * self.matcher.ages)
            lacking = ((masks & patterns[node]) != patterns[node]).any(axis=(0, 2))
            restricted = np.zeros(self.plan.node_count, np.bool_)
            restricted[node[lacking]] = True
            self._keep_masks = keep_masks
            self._kernel_masks = KernelKeepMasks(masks, keep_masks.threshold.astype(np.int64), restricted, _NO_ROWS)
        return self._kernel_masks

    def feature_samples(self, node: int) -> NDArray[np.float64]:
        """[feature, sample] recent values of the node's features."""
        first, end = self.buckets.feature_at[node], self.buckets.feature_at[node + 1]
        return self.samples.values[first:end, : min(int(self.samples.counts[node]), SAMPLES)]

    def rebucket(self, buckets: Buckets) -> None:
        """Gives live partial matches their new classes, and restarts the counts of the ledger."""
        self.buckets = buckets
        self.ledger = self.matcher.new_ledger(buckets)
        self._everything = everything_kept(int(buckets.class_at[-1]) * self.matcher.ages, len(self.matcher.plan.names))
        self._keep_masks = None
        if isinstance(self.checks, RunChecks):
            self.checks.last.rows[:] = NO_ROW
        store = self.store
        used = int(store.counts[USED])
        pms = np.flatnonzero(store.ancestry[:used, STATUS] != 0)
        classify(pms, store.ancestry, store.features, store.nulls, buckets, store.links)
        listed_matches = store.ancestry[:used, STATUS] == LISTED
        np.add.at(self.ledger.live, store.links[:used, CLASS][listed_matches], 1)

    def finish(self) -> tuple[tuple[PatternMatches, ...], MatcherState]:
        """The matches by pattern, and the state after the matched rows."""
        matched_rows = self.rules.first_row + int(self.progress[kp.NEXT_ROW])
        swept = self.progress[kp.SINCE_SWEEP], self.progress[kp.LEFT_BY_SWEEP]
        counters = np.array([self.store.counts[SERIAL], matched_rows, *swept], np.int64)
        state = kept_state(self.store, self.rows.positions, self.lists, self.samples, counters)
        return by_pattern(self.match_buffer, self.matcher.plan, self.rows.positions), state


def _lowest(keys: NDArray[np.int64], serial: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Indexes of the `count` lowest keys; of equal ones the newest."""
    if count >= len(keys):
        return np.arange(len(keys))
    edge = np.partition(keys, count - 1)[count - 1]
    below, equal = np.flatnonzero(keys < edge), np.flatnonzero(keys == edge)
    newest = equal[np.argsort(-serial[equal])]
    return np.concatenate([below, newest[: count - len(below)]])


def _samples(state: MatcherState | None, buckets: Buckets) -> Samples:
    if state is not None:
        return Samples(state.sampled.copy(), state.sample_counts.copy())
    features, nodes = int(buckets.feature_at[-1]), len(buckets.feature_at) - 1
    return Samples(np.zeros((features, SAMPLES), np.float64), np.zeros(nodes, np.int64))
