"""Matches of a slice as the chain of starts that the search went along, and how chains are joined where they meet.

After a match the search skips rows, so which starts it tries depends on the matches before. A slice can't know them: it
begins its chain at its own first row. Where the true chain of the slices before comes in at another row, the search is
repeated from there, but only until it tries a start that the slice's chain tried too: from there on they are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import Searched
from ostinato.rows.matches import Matches, ranges


class Chain(NamedTuple):
    """Matches in the order of their starts; rows are counted over all slices. `path_at`, `label`: see Matches."""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    ahead: NDArray[np.int64]
    path_at: NDArray[np.int64]
    label: NDArray[np.int32]
    excluded: NDArray[np.bool_]
    next_start: int
    """The start that the search would try next."""

    def tries(self, row: int) -> bool:
        """Whether the search tried this row as a start; it began at or before it."""
        before = int(np.searchsorted(self.start, row, side="left")) - 1
        return before < 0 or int(self.start[before] + self.ahead[before]) <= row

    def since(self, row: int) -> Chain:
        """The part that starts at this row or later."""
        first = int(np.searchsorted(self.start, row, side="left"))
        start, length, ahead, path_at = (
            self.start[first:],
            self.length[first:],
            self.ahead[first:],
            self.path_at[first:],
        )
        if not len(self.label):
            return Chain(start, length, ahead, path_at, self.label, self.excluded, self.next_start)
        at = int(path_at[0]) if len(path_at) else len(self.label)
        return Chain(start, length, ahead, path_at - at, self.label[at:], self.excluded[at:], self.next_start)


_NO_ROWS = np.empty(0, np.int64)
NOTHING = Chain(_NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS, np.empty(0, np.int32), np.empty(0, np.bool_), next_start=0)


def chain_of(searched: Searched, first: int) -> Chain:
    """What a search found in rows counted from `first`."""
    found = searched.matches
    next_start = int(searched.next_start[-1]) + first
    return Chain(
        found.start + first, found.length, searched.ahead, found.path_at, found.label, found.excluded, next_start
    )


def joined(chains: Sequence[Chain]) -> Chain:
    """Chains that follow one another as one."""
    if len(chains) == 1:
        return chains[0]
    label = np.concatenate([chain.label for chain in chains])
    length = np.concatenate([chain.length for chain in chains])
    return Chain(
        start=np.concatenate([chain.start for chain in chains]),
        length=length,
        ahead=np.concatenate([chain.ahead for chain in chains]),
        path_at=np.cumsum(length) - length if len(label) else np.zeros(len(length), np.int64),
        label=label,
        excluded=np.concatenate([chain.excluded for chain in chains]),
        next_start=chains[-1].next_start,
    )


def numbered(chain: Chain, key_at: NDArray[np.int64]) -> Matches:
    """The matches with their partitions and their numbers in them."""
    key = np.searchsorted(key_at, chain.start, side="right") - 1
    number = np.arange(len(key), dtype=np.int64) - np.searchsorted(key, key, side="left") + 1
    return Matches(
        chain.start, chain.length, number, chain.path_at, chain.label, chain.excluded, key_at[key], key_at[key + 1]
    )


def one_for_each_last_row(chain: Chain) -> Chain:
    """INCREMENTAL MATCHES: of the matches that end at one row the one that starts first, in the order of last rows."""
    order = np.lexsort((chain.start, chain.start + chain.length))
    last = (chain.start + chain.length)[order]
    order = order[np.diff(last, prepend=-1) != 0]
    length = chain.length[order]
    path = ranges(chain.path_at[order], length) if len(chain.label) else np.empty(0, np.int64)
    return Chain(
        start=chain.start[order],
        length=length,
        ahead=np.ones(len(order), np.int64),
        path_at=np.cumsum(length) - length if len(chain.label) else np.zeros(len(order), np.int64),
        label=chain.label[path],
        excluded=chain.excluded[path],
        next_start=chain.next_start,
    )
