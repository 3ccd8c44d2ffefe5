"""Slices matched by threads of this process. All rows are at hand, so a match may be followed wherever it leads.

Following matches far beyond a slice, and chains that don't meet, mean that rows are searched twice. Where slices are of
our own choice, only a small part of the rows is: beyond that, one search goes through all rows that are left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import Searched, Task, check_longest
from ostinato.clause.plan.shared_part import SharedPart
from ostinato.clause.plan.slicing import Margins
from ostinato.clause.query.clause import MatchMode, Skip, SkipKind
from ostinato.errors import MatchError
from ostinato.kernels.stopping import call_threads, check_stopped
from ostinato.rows.matches import Matches
from ostinato.slices.chains import NOTHING, Chain, chain_of, joined, numbered, one_for_each_last_row
from ostinato.slices.cutting import REPEATED_FRACTION, Slice, View, view_of

_FIRST_LOOK = 256
"""Where nothing bounds a match, how many rows beyond its starts a search sees first."""
_FIRST_REPEAT = 64
"""How many starts are repeated before two chains are first compared."""


class Followed(NamedTuple):
    """A chain, perhaps only its beginning, and how many rows were searched for it."""

    chain: Chain
    rows: int


@dataclass(frozen=True, slots=True)
class SlicedSearch:
    """What all slices share."""

    task: Task
    shared: SharedPart
    margins: Margins
    key_at: NDArray[np.int64]
    time_us: NDArray[np.int64]
    """Only where WITHIN alone bounds a match: ascending."""
    search: Callable[[View], Searched]
    may_give_up: bool
    """Whether one search takes over where slices cost too much."""

    def matches(self, slices: Sequence[Slice], workers: int) -> Matches:
        """The matches of all slices, in order. A worker that is idle takes the next slice."""
        check_longest(self.task, self.key_at)
        with call_threads(workers) as pool:
            chain = joined([NOTHING, *self._in_order(slices, self._speculated(slices, pool, workers))])
        if self.task.mode is MatchMode.INCREMENTAL:
            chain = one_for_each_last_row(chain)
        return numbered(chain, self.key_at)

    def _speculated(
        self, slices: Sequence[Slice], pool: ThreadPoolExecutor, workers: int
    ) -> Generator[Chain | MatchError, None, None]:
        """The chains of the slices. Where they may be in vain, no more are begun than keep the workers busy."""
        ahead = workers if self.may_give_up and may_be_in_vain(self.task, self.shared) else len(slices)
        waiting: deque[Future[Chain | MatchError]] = deque()
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

    def _speculate(self, owned: Slice) -> Chain | MatchError:
        try:
            return self._follow(owned.first, owned.end, self._spare(owned)).chain
        except MatchError as error:  # perhaps at a row that the true chain never tries
            return error

    def _spare(self, owned: Slice) -> int | None:
        """How many rows may be searched twice on behalf of a slice; None: any number."""
        return (owned.end - owned.first) // REPEATED_FRACTION if self.may_give_up else None

    def _follow(self, start: int, stop: int, spare: int | None = None) -> Followed:
        """The chain that begins at `start`, for starts before `stop`.

        It ends early where its next start would take more than `spare` rows beside those from `start` to `stop`.
        """
        parts: list[Chain] = [NOTHING._replace(next_start=start)]
        most = None if spare is None else stop - start + spare
        rows, reach = 0, self._reach(stop)
        while parts[-1].next_start < stop:
            check_stopped()
            view = view_of(parts[-1].next_start, stop, reach, self.key_at, self.margins)
            if most is not None and rows + view.end - view.first > most:
                break
            rows += view.end - view.first
            parts.append(chain_of(self.search(view), view.first))
            # Rows beyond what was seen decide the next start, if any: see twice as many.
            reach = stop + max(2 * (reach - stop), _FIRST_LOOK)
        return Followed(joined(parts[1:] or parts), rows)

    def _reach(self, stop: int) -> int:
        """The row before which matches of starts before `stop` end; a guess where nothing bounds them."""
        if self.shared.rows is not None:
            return stop + self.shared.rows
        if self.shared.within_us is not None and len(self.time_us):
            latest = self.time_us[stop - 1] + self.shared.within_us
            key_end = self.key_at[np.searchsorted(self.key_at, stop - 1, side="right")]
            return stop + int(np.searchsorted(self.time_us[stop:key_end], latest, side="right")) + 1
        return stop + _FIRST_LOOK

    def _in_order(self, slices: Sequence[Slice], found: Generator[Chain | MatchError, None, None]) -> Iterator[Chain]:
        """The chains of the slices that follow one another, and of all rows that are left where a slice gives up."""
        next_start = 0
        for owned, speculated in zip(slices, found, strict=True):
            if next_start >= owned.end:
                continue  # a match of an earlier slice covers all of it
            for chain in self._true_chain(max(next_start, owned.first), owned, speculated):
                yield chain
                next_start = chain.next_start
            if next_start < owned.end:
                found.close()
                yield self._follow(next_start, int(self.key_at[-1])).chain
                return

    def _true_chain(self, start: int, owned: Slice, speculated: Chain | MatchError) -> Iterator[Chain]:
        """The chain that comes in at `start`: the speculated one from where both meet. It ends early where they don't
        meet before too many rows were searched twice."""
        chained = is_chained(self.task.mode, self.task.skip)
        if isinstance(speculated, MatchError):
            if not chained:
                raise speculated
            speculated = NOTHING
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


def is_chained(mode: MatchMode, skip: Skip) -> bool:
    """Whether the starts to try depend on earlier matches."""
    return mode is MatchMode.PREFERRED and skip.kind is not SkipKind.TO_NEXT_ROW


def may_be_in_vain(task: Task, shared: SharedPart) -> bool:
    """Whether rows may show that slices cost more than they gain: chains don't meet, or matches lead too far."""
    return is_chained(task.mode, task.skip) or shared.rows is None
