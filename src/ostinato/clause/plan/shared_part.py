"""Nfa and bounds of a query -> how far a match may reach beyond its slice: the rows that two slices share."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.automaton.nfa import Nfa
from ostinato.errors import QueryError


@dataclass(frozen=True, slots=True)
class SharedPart:
    """At most `rows` further rows, or rows at most `within_us` later. If both are None, only data bound a match."""

    rows: int | None
    within_us: int | None
    why: str

    def owned(self, slice_rows: int) -> int:
        """The number of rows that a slice of so many rows owns: all but those shared with the next slice (n - s)."""
        if slice_rows < 1:
            raise QueryError("SLICE_TOO_SMALL", f"a slice has at least one row, not {slice_rows}")
        if self.rows is None:
            return slice_rows
        if slice_rows <= self.rows:
            raise QueryError(
                "SLICE_TOO_SMALL",
                f"a slice of {slice_rows:,} rows has none of its own: {self.rows:,} are shared with the next",
                hint=f"{self.why}; take at least {self.rows + 1:,} rows",
            )
        return slice_rows - self.rows


def shared_part(nfa: Nfa, max_length: int | None, within_us: int | None) -> SharedPart:
    """The bound comes from the longest match, MAXLENGTH or WITHIN."""
    longest = longest_match(nfa)
    if max_length is not None and (longest is None or max_length < longest):
        return SharedPart(max(max_length - 1, 0), within_us, f"MAXLENGTH {max_length}")
    if longest is not None:
        return SharedPart(
            max(longest - 1, 0), within_us, f"the pattern takes at most {longest} row{'s' if longest != 1 else ''}"
        )
    if within_us is not None:
        return SharedPart(None, within_us, "WITHIN limits the time of a match")
    return SharedPart(None, None, "nothing limits the length of a match")


def longest_match(nfa: Nfa) -> int | None:
    """The rows of the longest possible match; None where a loop has no bound."""
    longest: dict[int, int] = {}
    for state in _children_first(nfa):
        following = [longest.get(choice) for choice in nfa.states[state].choices if choice >= 0]
        if None in following:
            return None
        longest[state] = 1 + max((length for length in following if length is not None), default=0)
    return max((longest[state] for state in {*nfa.at_start, *nfa.elsewhere} if state >= 0), default=0)


def _children_first(nfa: Nfa) -> list[int]:
    """The states in depth-first post-order: the successors of a state come before it, unless there is a loop."""
    order: list[int] = []
    seen = set[int]()
    waiting = [(state, False) for state in {*nfa.at_start, *nfa.elsewhere} if state >= 0]
    while waiting:
        state, is_done = waiting.pop()
        if is_done:
            order.append(state)
        elif state not in seen:
            seen.add(state)
            waiting.append((state, True))
            waiting += [(choice, False) for choice in nfa.states[state].choices if choice >= 0]
    return order
