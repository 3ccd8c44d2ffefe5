"""The ends of the furthest paths of a start -> the reasons why no path consumes the next row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ostinato.clause.attempts.attempt import Part, Read, Reason, Refusal, Verdict
from ostinato.clause.attempts.point_values import KeyRows, PointValues
from ostinato.clause.automaton.nfa import ACCEPT_AT_END, Nfa
from ostinato.clause.matching.match_engine import RowTimes, Task
from ostinato.clause.plan.condition_parts import conjuncts
from ostinato.clause.plan.navigations import references
from ostinato.errors import MatchError
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Expr
from ostinato.kernels.constants import NO_TIME


@dataclass(frozen=True, slots=True)
class PathEnd:
    """A furthest path: its states, their labels, and the choices after it."""

    states: tuple[int, ...]
    labels: tuple[str, ...]
    choices: tuple[int, ...]


class RefusalReader:
    """Finds the reasons for one key."""

    def __init__(self, task: Task, nfa: Nfa, rows: KeyRows, times: RowTimes) -> None:
        self.task = task
        self.nfa = nfa
        self.rows = rows
        self.times = times

    def refusals(self, start: int, length: int, ends: Sequence[PathEnd], number: int) -> Iterator[Refusal]:
        """All paths end after `length` rows. The reasons come in the order of the ends, then of preference."""
        row = start + length
        if length and row < self.rows.count and any(ACCEPT_AT_END in end.choices for end in ends):
            yield Refusal(Reason.ROWS_FOLLOW, ())
        variables = tuple(dict.fromkeys(name for end in ends for name in self._next_variables(end)))
        if not variables:
            return
        bound = self._bound(start, row, variables)
        if bound is not None:
            yield bound
            return
        seen: list[str] = []
        for end in ends:
            for name in dict.fromkeys(self._next_variables(end)):
                refusal = self.condition(start, end.labels, name, number)
                if refusal.parts and repr(refusal) not in seen:
                    seen.append(repr(refusal))
                    yield refusal

    def _next_variables(self, end: PathEnd) -> Iterator[str]:
        return (self.nfa.states[choice].variable for choice in end.choices if choice >= 0)

    def _bound(self, start: int, row: int, variables: tuple[str, ...]) -> Refusal | None:
        """The reason against any variable at the row."""
        if row >= self.rows.count:
            return Refusal(Reason.END_OF_ROWS, variables)
        if self.task.max_length is not None and row - start >= self.task.max_length:
            return Refusal(Reason.MAXLENGTH, variables)
        if self.task.within_us is None:
            return None
        time_us, reach_us = self.times
        if time_us[row] == NO_TIME:
            return Refusal(Reason.NO_TIME, variables)
        distance = abs(int(time_us[row]) - int(time_us[start]))
        excess = distance - (int(reach_us[start]) if len(reach_us) else self.task.within_us)
        return Refusal(Reason.WITHIN, variables, excess=timedelta(microseconds=excess)) if excess > 0 else None

    def condition(self, start: int, labels: Sequence[str], variable: str, number: int) -> Refusal:
        """The parts of the variable's condition that aren't TRUE for the row behind these labels; perhaps none."""
        condition = self.rows.bound.conditions.get(variable)
        if condition is None:
            return Refusal(Reason.CONDITION, (variable,))
        point = PointValues(self.rows, start, (*labels, variable), number)
        parts = tuple(self._parts(condition, point))
        return Refusal(Reason.CONDITION, (variable,), self._written(condition), parts)

    def _parts(self, condition: Expr, point: PointValues) -> Iterator[Part]:
        guarded = False
        for operand in conjuncts(condition):
            error = None
            try:
                value = point.value(operand)
            except MatchError as failure:
                if guarded:  # AND doesn't evaluate it
                    continue
                value, error = None, failure.message
            if value is True:
                continue
            guarded = True
            verdict = Verdict.ERROR if error else Verdict.NULL if value is None else Verdict.FALSE
            yield Part(self._written(operand), verdict, tuple(self._reads(operand, point)), error)

    def _reads(self, operand: Expr, point: PointValues) -> Iterator[Read]:
        seen: set[str] = set()
        for reference in references(operand):
            text = self._written(reference)
            if text in seen:
                continue
            seen.add(text)
            try:
                yield Read(text, point.value(reference))
            except MatchError as failure:
                yield Read(text, failure.code)

    def _written(self, expr: Expr) -> str:
        """The expression as the user wrote it, in one line."""
        text, wording = self.rows.bound.clause.text, self.rows.wording
        if text is None or expr.span is None:
            return render_expression(expr)
        written = " ".join(text[expr.span.start : expr.span.end].split())
        return written if wording is None else wording(written)
