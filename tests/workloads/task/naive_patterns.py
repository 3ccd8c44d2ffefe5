"""A slow, recursive matcher of pattern programs without run conditions. It is the oracle of other matchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.workloads.merging.pattern_program import START, PatternProgram, PatternStep

NaiveMatch = tuple[tuple[int, ...], tuple[int, ...]]
"""The rows of a match that aren't skipped, and their labels."""


def naive_matches(program: PatternProgram, conditions: Sequence[Sequence[bool]], count: int) -> list[NaiveMatch]:
    """All matches in one partition of `count` rows; extents count rows only."""
    extent = program.extent
    assert not program.run
    assert extent.kind is BoundKind.NONE or extent.by_place
    accepting = {state for state, _ in program.accepting}

    def matches_from(state: int, rows: tuple[int, ...], labels: tuple[int, ...]) -> Iterator[NaiveMatch]:
        if state in accepting:
            yield rows, labels
        for step in program.steps:
            if step.source == state:
                for row in _candidates(step, rows, conditions, count):
                    fits = not rows or extent.kind is BoundKind.NONE or row - rows[0] <= extent.length
                    if fits and conditions[program.qualifies[step.label]][row]:
                        yield from matches_from(step.target, (*rows, row), (*labels, step.label))

    return list(matches_from(START, (), ()))


def _candidates(
    step: PatternStep, rows: tuple[int, ...], conditions: Sequence[Sequence[bool]], count: int
) -> Iterator[int]:
    """The rows that a step may take with regard to absences and adjacency."""
    if not rows:
        yield from range(count)
        return
    for row in range(rows[-1] + 1, count):
        yield row
        if step.adjacent or any(conditions[absent][row] for absent in step.absent):
            return
