"""Slices matched by threads of this process. All rows are at hand, so a match may be followed wherever it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.matching.engine import Searched, Task, check_longest
from ostinato.query.match_recognize import MatchMode, SkipKind
from ostinato.results.matches import Matches
from ostinato.stopping import call_threads, check_stopped
from ostinato.techniques.parallel_runs.chains import NOTHING, Chain, chain_of, joined, numbered, one_for_each_last_row
from ostinato.techniques.parallel_runs.shared_part import SharedPart
from ostinato.techniques.parallel_runs.slices import Margins, Slice, View, view_of

_FIRST_LOOK = 256
"""Where nothing bounds a match, how many rows beyond its starts a search sees first."""
_FIRST_REPEAT = 64
"""How many starts are repeated before two chains are first compared."""


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

    @property
    def is_chained(self) -> bool:
        """Whether the starts to try depend on earlier matches."""
        return self.task.mode is MatchMode.PREFERRED and self.task.skip.kind is not SkipKind.TO_NEXT_ROW

    def matches(self, slices: Sequence[Slice], workers: int) -> Matches:
        """The matches of all slices, in order. A worker that is idle takes the next slice."""
        check_longest(self.task, self.key_at)
        with call_threads(workers) as pool:
            found = pool.map(self._speculate, slices)
            chain = joined([NOTHING, *self._in_order(slices, found)])
        if self.task.mode is MatchMode.INCREMENTAL:
            chain = one_for_each_last_row(chain)
        return numbered(chain, self.key_at)

    def _speculate(self, owned: Slice) -> Chain | MatchError:
        try:
            return self._chain(owned.first, owned.end)
        except MatchError as error:  # perhaps at a row that the true chain never tries
            return error

    def _chain(self, start: int, stop: int) -> Chain:
        """The chain that begins at `start`, for starts before `stop`."""
        parts = []
        reach = self._reach(stop)
        while True:
            check_stopped()
            view = view_of(start, stop, reach, self.key_at, self.margins)
            part = chain_of(self.search(view), view.first)
            parts.append(part)
            if part.next_start >= stop:
                return joined(parts)
            # Rows beyond what was seen decide this start: see twice as many.
            start, reach = part.next_start, stop + max(2 * (reach - stop), _FIRST_LOOK)

    def _reach(self, stop: int) -> int:
        """The row before which matches of starts before `stop` end; a guess where nothing bounds them."""
        if self.shared.rows is not None:
            return stop + self.shared.rows
        if self.shared.within_us is not None and len(self.time_us):
            latest = self.time_us[stop - 1] + self.shared.within_us
            key_end = self.key_at[np.searchsorted(self.key_at, stop - 1, side="right")]
            return stop + int(np.searchsorted(self.time_us[stop:key_end], latest, side="right")) + 1
        return stop + _FIRST_LOOK

    def _in_order(self, slices: Sequence[Slice], found: Iterator[Chain | MatchError]) -> Iterator[Chain]:
        """Joins the chains of the slices, one after another."""
        next_start = 0
        for owned, speculated in zip(slices, found, strict=True):
            if next_start >= owned.end:
                continue  # a match of an earlier slice covers all of it
            for chain in self._true_chain(max(next_start, owned.first), owned.end, speculated):
                yield chain
                next_start = chain.next_start

    def _true_chain(self, start: int, stop: int, speculated: Chain | MatchError) -> Iterator[Chain]:
        """The chain that comes in at `start`: the speculated one from where both meet."""
        if not self.is_chained:
            if isinstance(speculated, MatchError):
                raise speculated
            yield speculated
            return
        repeat = _FIRST_REPEAT
        while start < stop:
            if isinstance(speculated, Chain) and speculated.tries(start):
                yield speculated.since(start)
                return
            chain = self._chain(start, min(start + repeat, stop))
            yield chain
            start, repeat = chain.next_start, 4 * repeat
