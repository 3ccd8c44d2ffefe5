"""Matches slices with threads of this process. All rows are in memory, so a search can follow a match to its end.

Matches that reach far beyond a slice, and chains that don't meet, make the search read rows twice. If Ostinato chose
the slices, it limits these rows to a small fraction: beyond it, one search continues over all remaining rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import SearchResult, Task, check_longest
from ostinato.clause.plan.shared_part import SharedPart
from ostinato.clause.plan.slicing import Margins
from ostinato.clause.query.clause import MatchMode
from ostinato.errors import MatchError
from ostinato.kernels.stopping import call_threads, check_stopped
from ostinato.rows.matches import Matches
from ostinato.slices.chains import EMPTY_CHAIN, MatchChain, chain_of, joined, numbered, one_for_each_last_row
from ostinato.slices.cutting import ROWS_PER_REPEATED_ROW, Slice, View, view_of
from ostinato.slices.handover_kind import is_chained

_FIRST_LOOK = 256
"""Number of rows behind its starts that a search sees first, if matches have no length limit."""
_FIRST_REPEAT = 64
"""Number of starts that are repeated before two chains are first compared."""


class Followed(NamedTuple):
    """A chain, perhaps only its beginning, and the number of rows searched for it."""

    chain: MatchChain
    rows: int


@dataclass(frozen=True, slots=True)
class SlicedSearch:
    """The search over all slices."""

    task: Task
    shared: SharedPart
    margins: Margins
    key_at: NDArray[np.int64]
    time_us: NDArray[np.int64]
    """Ascending times. Only used if WITHIN alone limits a match."""
    search: Callable[[View], SearchResult]
    may_give_up: bool
    """Whether one search takes over if slices cost too much."""

    def matches(self, slices: Sequence[Slice], workers: int) -> Matches:
        """The matches of all slices, in order. An idle worker takes the next slice."""
        check_longest(self.task, self.key_at)
        with call_threads(workers) as pool:
            chain = joined([EMPTY_CHAIN, *self._in_order(slices, self._speculated(slices, pool, workers))])
        if self.task.mode is MatchMode.INCREMENTAL:
            chain = one_for_each_last_row(chain)
        return numbered(chain, self.key_at)

    def _speculated(
        self, slices: Sequence[Slice], pool: ThreadPoolExecutor, workers: int
    ) -> Generator[MatchChain | MatchError, None, None]:
        """The chains of the slices. If slices may be wasted, only as many run as keep the workers busy."""
        ahead = workers if self.may_give_up and may_be_wasted(self.task, self.shared) else len(slices)
        waiting: deque[Future[MatchChain | MatchError]] = deque()
        try:
            for owned in slices:
                waiting.append(pool.submit(self._speculate, owned))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _speculate(self, owned: Slice) -> MatchChain | MatchError:
        try:
            return self._follow(owned.first, owned.end, self._spare(owned)).chain
        except MatchError as error:  # the true chain may never try this row
            return error

    def _spare(self, owned: Slice) -> int | None:
        """Number of rows that may be searched twice for a slice; None: any number."""
        return (owned.end - owned.first) // ROWS_PER_REPEATED_ROW if self.may_give_up else None

    def _follow(self, start: int, stop: int, spare: int | None = None) -> Followed:
        """The chain that begins at `start`, for starts before `stop`.

        It ends early if the next start needs more than `spare` rows besides those from `start` to `stop`.
        """
        chains: list[MatchChain] = [EMPTY_CHAIN._replace(next_start=start)]
        most_rows = None if spare is None else stop - start + spare
        rows, reach = 0, self._reach(stop)
        while chains[-1].next_start < stop:
            check_stopped()
            view = view_of(chains[-1].next_start, stop, reach, self.key_at, self.margins)
            if most_rows is not None and rows + view.end - view.first > most_rows:
                break
            rows += view.end - view.first
            chains.append(chain_of(self.search(view), view.first))
            # Later rows decide the next start, so the next search sees twice as many.
            reach = stop + max(2 * (reach - stop), _FIRST_LOOK)
        return Followed(joined(chains[1:] or chains), rows)

    def _reach(self, stop: int) -> int:
        """The row before which matches that start before `stop` end. A guess if matches have no limit."""
        if self.shared.rows is not None:
            return stop + self.shared.rows
        if self.shared.within_us is not None and len(self.time_us):
            latest = self.time_us[stop - 1] + self.shared.within_us
            key_end = self.key_at[np.searchsorted(self.key_at, stop - 1, side="right")]
            return stop + int(np.searchsorted(self.time_us[stop:key_end], latest, side="right")) + 1
        return stop + _FIRST_LOOK

    def _in_order(
        self, slices: Sequence[Slice], speculated_chains: Generator[MatchChain | MatchError, None, None]
    ) -> Iterator[MatchChain]:
        """The true chains of the slices, in order. If a slice gives up, one chain over all remaining rows."""
        next_start = 0
        for owned, speculated in zip(slices, speculated_chains, strict=True):
            if next_start >= owned.end:
                continue  # a match of an earlier slice covers all of it
            for chain in self._true_chain(max(next_start, owned.first), owned, speculated):
                yield chain
                next_start = chain.next_start
            if next_start < owned.end:
                speculated_chains.close()
                yield self._follow(next_start, int(self.key_at[-1])).chain
                return

    def _true_chain(self, start: int, owned: Slice, speculated: MatchChain | MatchError) -> Iterator[MatchChain]:
        """The chain that enters the slice at `start`: repeated searches until it meets the speculated chain. It ends
        early if both don't meet before too many rows were searched twice."""
        chained = is_chained(self.task.mode, self.task.skip)
        if isinstance(speculated, MatchError):
            if not chained:
                raise speculated
            speculated = EMPTY_CHAIN
        spare, repeat = self._spare(owned), _FIRST_REPEAT
        while start < owned.end:
            if start < speculated.next_start and (not chained or speculated.tries(start)):
                yield speculated.since(start) if chained else speculated
                start = speculated.next_start
                continue
            stop = min(start + repeat, owned.end)
            followed = self._follow(start, stop, None if spare is None else spare - (stop - start))
            yield followed.chain
            if followed.chain.next_start < stop:
                return
            spare = None if spare is None else spare - followed.rows
            start, repeat = followed.chain.next_start, 4 * repeat


def may_be_wasted(task: Task, shared: SharedPart) -> bool:
    """Whether slices may cost more than they gain, because chains don't meet or matches are too long."""
    return is_chained(task.mode, task.skip) or shared.rows is None
