"""A slow, obvious matcher of pattern programs without run conditions: letters for rows, recursion for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.workloads.merging.pattern_program import START, PatternProgram, PatternStep

Found = tuple[tuple[int, ...], tuple[int, ...]]
"""The rows that were looked at, and their labels."""


def naive_matches(program: PatternProgram, conditions: Sequence[Sequence[bool]], count: int) -> list[Found]:
    """All matches in one partition of `count` rows; extents by place only."""
    extent = program.extent
    assert not program.run
    assert extent.kind is BoundKind.NONE or extent.by_place
    accepting = {state for state, _ in program.accepting}

    def go_on(state: int, rows: tuple[int, ...], labels: tuple[int, ...]) -> Iterator[Found]:
        if state in accepting:
            yield rows, labels
        for step in program.steps:
            if step.source == state:
                for row in _candidates(step, rows, conditions, count):
                    fits = not rows or extent.kind is BoundKind.NONE or row - rows[0] <= extent.length
                    if fits and conditions[program.qualifies[step.label]][row]:
                        yield from go_on(step.target, (*rows, row), (*labels, step.label))

    return list(go_on(START, (), ()))


def _candidates(
    step: PatternStep, rows: tuple[int, ...], conditions: Sequence[Sequence[bool]], count: int
) -> Iterator[int]:
    """The rows that a step may take, as far as what lies between decides."""
    if not rows:
        yield from range(count)
        return
    for row in range(rows[-1] + 1, count):
        yield row
        if step.adjacent or any(conditions[absent][row] for absent in step.absent):
            return
