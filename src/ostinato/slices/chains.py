"""Chains: the matches of a slice with the starts that the search tried. Chains are joined where they meet.

After a match, the search skips rows, so earlier matches decide which starts it tries. A slice doesn't know them and
begins its chain at its own first row. If the true chain enters the slice at another row, the search is repeated from
there until it tries a start that the slice's chain also tried. From that start on, both chains are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import SearchResult
from ostinato.rows.matches import Matches, ranges


class MatchChain(NamedTuple):
    """Matches ordered by start. Rows are counted over all slices. `path_at`, `label`: see Matches."""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    ahead: NDArray[np.int64]
    path_at: NDArray[np.int64]
    label: NDArray[np.int32]
    excluded: NDArray[np.bool_]
    next_start: int
    """The next start of the search."""

    def tries(self, row: int) -> bool:
        """Whether the search tried this row as a start. The chain must begin at or before it."""
        before = int(np.searchsorted(self.start, row, side="left")) - 1
        return before < 0 or int(self.start[before] + self.ahead[before]) <= row

    def since(self, row: int) -> MatchChain:
        """The matches that start at this row or later."""
        first = int(np.searchsorted(self.start, row, side="left"))
        start, length, ahead, path_at = (
            self.start[first:],
            self.length[first:],
            self.ahead[first:],
            self.path_at[first:],
        )
        if not len(self.label):
            return MatchChain(start, length, ahead, path_at, self.label, self.excluded, self.next_start)
        at = int(path_at[0]) if len(path_at) else len(self.label)
        return MatchChain(start, length, ahead, path_at - at, self.label[at:], self.excluded[at:], self.next_start)


_NO_ROWS = np.empty(0, np.int64)
_NO_LABELS, _NO_FLAGS = np.empty(0, np.int32), np.empty(0, np.bool_)
EMPTY_CHAIN = MatchChain(_NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_LABELS, _NO_FLAGS, next_start=0)


def chain_of(searched: SearchResult, first: int) -> MatchChain:
    """The chain of a search whose rows count from `first`."""
    matches = searched.matches
    next_start = int(searched.next_start[-1]) + first
    return MatchChain(
        matches.start + first,
        matches.length,
        searched.ahead,
        matches.path_at,
        matches.label,
        matches.excluded,
        next_start,
    )


def joined(chains: Sequence[MatchChain]) -> MatchChain:
    """Concatenates consecutive chains."""
    if len(chains) == 1:
        return chains[0]
    label = np.concatenate([chain.label for chain in chains])
    length = np.concatenate([chain.length for chain in chains])
    return MatchChain(
        start=np.concatenate([chain.start for chain in chains]),
        length=length,
        ahead=np.concatenate([chain.ahead for chain in chains]),
        path_at=np.cumsum(length) - length if len(label) else np.zeros(len(length), np.int64),
        label=label,
        excluded=np.concatenate([chain.excluded for chain in chains]),
        next_start=chains[-1].next_start,
    )


def numbered(chain: MatchChain, key_at: NDArray[np.int64]) -> Matches:
    """The matches with their keys, numbered within each key."""
    key = np.searchsorted(key_at, chain.start, side="right") - 1
    number = np.arange(len(key), dtype=np.int64) - np.searchsorted(key, key, side="left") + 1
    return Matches(
        chain.start, chain.length, number, chain.path_at, chain.label, chain.excluded, key_at[key], key_at[key + 1]
    )


def one_for_each_last_row(chain: MatchChain) -> MatchChain:
    """INCREMENTAL MATCHES: the earliest start for each last row, ordered by last row."""
    order = np.lexsort((chain.start, chain.start + chain.length))
    last = (chain.start + chain.length)[order]
    order = order[np.diff(last, prepend=-1) != 0]
    length = chain.length[order]
    path = ranges(chain.path_at[order], length) if len(chain.label) else np.empty(0, np.int64)
    return MatchChain(
        start=chain.start[order],
        length=length,
        ahead=np.ones(len(order), np.int64),
        path_at=np.cumsum(length) - length if len(chain.label) else np.zeros(len(order), np.int64),
        label=chain.label[path],
        excluded=chain.excluded[path],
        next_start=chain.next_start,
    )
