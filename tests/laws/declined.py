"""Counts the random examples that an engine declines, so that a law can't pass by declining them all.

A law names the codes by which an example may be declined, each with its reason. Any other error fails the law. At the
end of each test, most of its examples must have been answered, and enough answers must have had rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hypothesis import currently_in_test_context, event, reject

from ostinato.errors import OstinatoError
from ostinato.reference.trend_matches import TooManyRuns

CLAUSES = {"UNSUPPORTED_ACROSS_ROWS": "an expression over several rows of a match that no engine evaluates"}
"""For the clauses that `strategies.py` draws."""
VALUES = {"ARITHMETIC_OVERFLOW": "a value of the example is out of range"}
"""Errors of values, which depend on the rows that an engine evaluates."""
EVENT_QUERIES = {
    "AMBIGUOUS_NEGATION": "NOT beside something optional has no single meaning",
    "PATTERN_TOO_LARGE": "the automaton would have too many states",
    "SEVERAL_KLEENE_VARIABLES": "a condition over two repeated variables has no single meaning",
}
"""For the RETURN MATCHES queries that `event_strategies.py` draws, and for similar ones."""
TRENDS = {
    "AGGREGATE_NEEDS_ADJACENT": "a condition over events that aren't adjacent, in a query that lists no matches",
    "AMBIGUOUS_NEGATION": "NOT beside something optional has no single meaning",
    "CONJUNCTION_NOT_SUPPORTED": "AND beside a clause that it can't be used with",
    "PATTERN_TOO_LARGE": "the automaton would have too many states",
}
"""For all queries that `event_strategies.py` draws."""


class Declined:
    """Counts the examples of the current test: drawn, declined, and answered with rows."""

    def __init__(
        self, may_decline: Mapping[str, str], *, most_declined: float = 0.25, fewest_with_rows: float = 0.15
    ) -> None:
        """`may_decline`: reasons by error code. The two limits are fractions of all drawn examples."""
        self.may_decline = may_decline
        self.most_declined = most_declined
        self.fewest_with_rows = fewest_with_rows
        self.drawn = self.with_rows = 0
        self.declined: Counter[str] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Wraps one test. Fails it if too many examples were declined, or too few gave rows."""
        self.drawn = self.with_rows = 0
        self.declined.clear()
        yield
        summary = f"{self.drawn} examples, {self.with_rows} with rows, declined: {dict(self.declined)}"
        assert self.declined.total() <= self.most_declined * self.drawn, summary
        assert self.with_rows >= self.fewest_with_rows * self.drawn, summary

    @contextmanager
    def example(self) -> Iterator[None]:
        """Wraps the code of an example that an engine may decline."""
        self.drawn += 1
        try:
            yield
        except OstinatoError as error:
            if error.code not in self.may_decline:
                raise
            self.leave_out(error.code)

    @contextmanager
    def oracle(self) -> Iterator[None]:
        """Wraps the oracle alone. It raises for expressions that it doesn't know, and for too many runs."""
        try:
            yield
        except (NotImplementedError, TooManyRuns):
            self.leave_out("the oracle declines")

    def leave_out(self, reason: str) -> None:
        """Ends the example, because an engine declined it for this reason."""
        self.declined[reason] += 1
        event(f"declined: {reason}")
        reject()

    def answered(self, *, rows: bool) -> None:
        """Counts an example that was compared. `rows`: the answer wasn't empty."""
        self.with_rows += rows
        if currently_in_test_context():
            event("rows" if rows else "no rows")
