"""Rows + an evaluation that may fail -> the rows that make it fail, each with its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ostinato.errors import MatchError


def failing_rows(count: int, evaluate: Callable[[int, int], object], most: int | None = None) -> dict[int, MatchError]:
    """The rows for which `evaluate` raises MatchError. It evaluates the rows from its first argument to its second.
    `most`: stops as soon as more rows than this have failed.

    An expression over one row fails for each row alone, so halves are tried until single rows are left.

    >>> def evaluate(begin, end):
    ...     if 2 in range(begin, end):
    ...         raise MatchError("DIVIDE_BY_ZERO", "division by zero")
    >>> list(failing_rows(5, evaluate))
    [2]
    """
    failed: dict[int, MatchError] = {}
    for row, error in _failing(count, evaluate):
        failed[row] = error
        if most is not None and len(failed) > most:
            break
    return failed


def first_failing_row(count: int, evaluate: Callable[[int, int], object]) -> tuple[int, MatchError]:
    """The first of the rows that `failing_rows` gives. There is one."""
    return next(_failing(count, evaluate))


def _failing(count: int, evaluate: Callable[[int, int], object]) -> Iterator[tuple[int, MatchError]]:
    waiting = [(0, count)]
    while waiting:
        begin, end = waiting.pop()
        try:
            if begin < end:
                evaluate(begin, end)
        except MatchError as error:
            if end - begin == 1:
                yield begin, error
            else:
                middle = (begin + end) // 2
                waiting += [(middle, end), (begin, middle)]
