"""A planned clause -> lines that say where and when each DEFINE condition is evaluated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ostinato.clause.language.clause_render import render_variable
from ostinato.clause.plan.match_plan import NONE, MatchPlan, StateCondition
from ostinato.explanation.planned_clause import PlannedClause
from ostinato.explanation.readable import Unions, readable
from ostinato.expressions.run_conditions.opcodes import AccumulatorRule, RegisterRule
from ostinato.expressions.run_conditions.run_program import Register, RunProgram
from ostinato.expressions.syntax import RowSet

MAX_CONDITIONS_SHOWN = 40

_ROW, _NEIGHBOURS, _RUN, _GENERAL = "Spark, per row", "shifted columns", "search kernel", "Python, row by row"
_EITHER = "kernel or Python"
_MEANING = {
    _ROW: "Spark evaluates the condition on every row before matching, and sends one bit a row.",
    _NEIGHBOURS: "The worker evaluates the condition on all rows at once, over columns shifted within a key.",
    _RUN: "The condition depends on the rows matched so far. The compiled search checks it on each row that it tries.",
    _EITHER: "The condition depends on the rows matched so far. The compiled search checks it if it supports the "
    "column types. Otherwise Python does, at 0.02 to 0.1 ms for each row tried.",
    _GENERAL: "The condition depends on the rows matched so far, and the compiled search doesn't support it. Python "
    "checks it, at 0.02 to 0.1 ms for each row tried.",
}


def condition_lines(planned: PlannedClause) -> list[str]:
    """One block for each variable, or for each row of a pattern of fixed length; then the meaning of the terms."""
    plan = planned.plan
    run_words = _run_words(planned)
    blocks = list(_blocks(plan))
    if not blocks:
        return ["The pattern has no variable, so it consumes no row."]
    names = [name for name, _ in blocks]
    width = max(len(name) for name in names)
    lines: list[str] = []
    used: set[str] = set()
    for name, condition in blocks[:MAX_CONDITIONS_SHOWN]:
        conjuncts = list(_conjuncts(plan, condition, run_words))
        for i, (where, text) in enumerate(conjuncts):
            lines.append(f"{name if i == 0 else '':<{width}}  {where + ':':<20}{text}")
            used.add(where)
        if not conjuncts:
            lines.append(f"{name:<{width}}  every row")
    if len(blocks) > MAX_CONDITIONS_SHOWN:
        lines.append(f"... and {len(blocks) - MAX_CONDITIONS_SHOWN:,} more")
    lines += [f"{where}: {meaning}" for where, meaning in _MEANING.items() if where in used]
    return lines + (_run_lines(planned) if plan.run_conditions else [])


def _run_words(planned: PlannedClause) -> str:
    if planned.typed is None:
        return _EITHER
    return _RUN if planned.typed.general is None else _GENERAL


def _blocks(plan: MatchPlan) -> Iterator[tuple[str, StateCondition]]:
    """Variables, or rows of the pattern, with their conditions; equal neighbours are one entry."""
    if plan.sequence is not None:
        first = 1
        pairs = zip(plan.sequence, plan.state_conditions, strict=True)
        for (name, condition), same in itertools.groupby(pairs):
            count = len(list(same))
            rows = f"row {first}" if count == 1 else f"rows {first} to {first + count - 1}"
            yield f"{rows}, {render_variable(name)}", condition
            first += count
        return
    seen: set[str] = set()
    for state, condition in zip(plan.nfa.states, plan.state_conditions, strict=True):
        if state.variable not in seen:
            seen.add(state.variable)
            yield render_variable(state.variable), condition


def _conjuncts(plan: MatchPlan, condition: StateCondition, run_words: str) -> Iterator[tuple[str, str]]:
    unions = plan.bound.unions
    if condition.row != NONE:
        yield _ROW, readable(plan.row_conditions[condition.row], unions)
    if condition.neighbours != NONE:
        yield _NEIGHBOURS, readable(plan.neighbour_conditions[condition.neighbours], unions)
    if condition.run != NONE:
        yield run_words, readable(plan.run_conditions[condition.run], unions)


# --- values that a partial match stores ---


def _run_lines(planned: PlannedClause) -> list[str]:
    typed, unions = planned.typed, planned.plan.bound.unions
    if typed is None:
        return [f"The values that a partial match stores depend on the column types. {planned.untyped_reason}"]
    if typed.general is not None:
        computed = ", ".join(readable(slot, unions) for slot in typed.general.slots)
        unknown = [f"Not supported: {reason}." for reason in typed.general.reasons]
        return [*unknown, f"Computed again for each row tried: {computed}."]
    assert typed.run is not None
    stored = ", ".join((*_registers(typed.run, unions), *_totals(typed.run, unions)))
    return [f"Each partial match stores {stored or 'only its rows'}."]


def _registers(program: RunProgram, unions: Unions) -> list[str]:
    registers = program.registers
    chained = {
        register.source
        for register in registers
        if register.keep in (RegisterRule.LAST_BEFORE, RegisterRule.FIRST_AFTER)
    }
    return [_register(program, at, unions) for at in range(len(registers)) if at not in chained]


def _register(program: RunProgram, at: int, unions: Unions) -> str:
    register = program.registers[at]
    rows = _rows(register.rows, unions)
    match register.keep:
        case RegisterRule.LAST | RegisterRule.FIRST:
            return f"the {register.keep.name.lower()} row{rows}"
        case RegisterRule.LAST_BEFORE | RegisterRule.FIRST_AFTER:
            steps = _steps(program.registers, register)
            end = "last" if register.keep is RegisterRule.LAST_BEFORE else "first"
            return f"the {end} {steps + 1} rows{rows}"
        case RegisterRule.LEAST_WHOLE | RegisterRule.LEAST_REAL:
            return f"the row{rows} with the least {readable(program.columns[register.source].operand)}"
        case _:
            return f"the row{rows} with the greatest {readable(program.columns[register.source].operand)}"


def _steps(registers: Sequence[Register], register: Register) -> int:
    steps = 0
    while register.keep in (RegisterRule.LAST_BEFORE, RegisterRule.FIRST_AFTER):
        steps, register = steps + 1, registers[register.source]
    return steps


_TOTALS = {
    AccumulatorRule.VALUES_WHOLE: "the number of values of",
    AccumulatorRule.VALUES_REAL: "the number of values of",
    AccumulatorRule.SUM_WHOLE: "the sum of",
    AccumulatorRule.SUM_REAL: "the sum of",
    AccumulatorRule.TRUE_VALUES: "the number of true values of",
}


def _totals(program: RunProgram, unions: Unions) -> Iterator[str]:
    for accumulator in program.accumulators:
        counted = frozenset(
            name for name, column in zip(program.variables, accumulator.columns, strict=True) if column >= 0
        )
        rows = _rows(None if counted == frozenset(program.variables) else counted, unions)
        if accumulator.total is AccumulatorRule.ROWS:
            yield f"the number of rows{rows}"
        elif accumulator.total in _TOTALS:
            columns = dict.fromkeys(column for column in accumulator.columns if column >= 0)
            operands = " or ".join(readable(program.columns[column].operand) for column in columns)
            yield f"{_TOTALS[accumulator.total]} {operands}{' over the rows' + rows if rows else ''}"


def _rows(rows: RowSet, unions: Unions) -> str:
    if rows is None:
        return ""
    name = next((union for union, members in unions.items() if members == rows), None)
    return f" of {name or ' or '.join(render_variable(each) for each in sorted(rows))}"
