"""DEFINE conditions in words: who evaluates each part of them, and when."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ostinato.clause.language.clause_render import render_variable
from ostinato.clause.plan.match_plan import NONE, MatchPlan, StateCondition
from ostinato.explanation.readable import Unions, readable
from ostinato.explanation.understood import Understood
from ostinato.expressions.run_conditions.opcodes import Keep, Total
from ostinato.expressions.run_conditions.run_program import Register, RunProgram
from ostinato.expressions.syntax import RowSet

MAX_PLACES_SHOWN = 40

_ROW, _NEIGHBOURS, _RUN, _GENERAL = "Spark, per row", "shifted columns", "search kernel", "Python, row by row"
_EITHER = "kernel or Python"
_MEANING = {
    _ROW: "evaluated by Spark before matching, for every row; shipped as packed bits",
    _NEIGHBOURS: "evaluated in the worker over columns shifted inside a key, all rows at once",
    _RUN: "depends on the rows matched so far: checked by the compiled search when it tries the row",
    _EITHER: "depends on the rows matched so far: checked by the compiled search if it knows this for the types",
    _GENERAL: "depends on the rows matched so far, in a way the kernel doesn't know: about 2 ms for each row tried",
}


def conditions_part(understood: Understood) -> list[str]:
    """One block per variable, or per row of a pattern of fixed length; then an explanation of the terms."""
    plan = understood.plan
    run_words = _run_words(understood)
    blocks = list(_blocks(plan))
    if not blocks:
        return ["no variable: the pattern consumes no row"]
    names = [name for name, _ in blocks]
    width = max(len(name) for name in names)
    lines: list[str] = []
    used: dict[str, None] = {}
    for name, condition in blocks[:MAX_PLACES_SHOWN]:
        parts = list(_parts(plan, condition, run_words))
        for i, (where, text) in enumerate(parts):
            lines.append(f"{name if i == 0 else '':<{width}}  {where + ':':<20}{text}")
            used[where] = None
        if not parts:
            lines.append(f"{name:<{width}}  every row")
    if len(blocks) > MAX_PLACES_SHOWN:
        lines.append(f"... and {len(blocks) - MAX_PLACES_SHOWN:,} more")
    lines += [f"({where}: {_MEANING[where]})" for where in _MEANING if where in used]
    return lines + (_run_lines(understood) if plan.run_conditions else [])


def _run_words(understood: Understood) -> str:
    if understood.typed is None:
        return _EITHER
    return _RUN if understood.typed.general is None else _GENERAL


def _blocks(plan: MatchPlan) -> Iterator[tuple[str, StateCondition]]:
    """Variables, or rows of the pattern, with their conditions; equal neighbours are one entry."""
    if plan.sequence is not None:
        first = 1
        pairs = zip(plan.sequence, plan.state_conditions, strict=True)
        for (name, condition), same in itertools.groupby(pairs):
            count = len(list(same))
            places = f"row {first}" if count == 1 else f"rows {first} to {first + count - 1}"
            yield f"{places}, {render_variable(name)}", condition
            first += count
        return
    seen: set[str] = set()
    for state, condition in zip(plan.nfa.states, plan.state_conditions, strict=True):
        if state.variable not in seen:
            seen.add(state.variable)
            yield render_variable(state.variable), condition


def _parts(plan: MatchPlan, condition: StateCondition, run_words: str) -> Iterator[tuple[str, str]]:
    unions = plan.bound.unions
    if condition.row != NONE:
        yield _ROW, readable(plan.row_conditions[condition.row], unions)
    if condition.neighbours != NONE:
        yield _NEIGHBOURS, readable(plan.neighbour_conditions[condition.neighbours], unions)
    if condition.run != NONE:
        yield run_words, readable(plan.run_conditions[condition.run], unions)


# --- what a partial match carries ---


def _run_lines(understood: Understood) -> list[str]:
    typed, unions = understood.typed, understood.plan.bound.unions
    if typed is None:
        return [f"what a partial match carries along stays open: {understood.untyped}"]
    if typed.general is not None:
        reason = typed.general.reason
        carried = ", ".join(readable(slot, unions) for slot in typed.general.slots)
        return [f"why not the kernel: {reason}", f"asked anew for each row tried: {carried}"]
    assert typed.run is not None
    carried = ", ".join((*_registers(typed.run, unions), *_totals(typed.run, unions)))
    return [f"each partial match carries: {carried or 'nothing but its rows'}"]


def _registers(program: RunProgram, unions: Unions) -> list[str]:
    registers = program.registers
    chained = {register.source for register in registers if register.keep in (Keep.LAST_BEFORE, Keep.FIRST_AFTER)}
    return [_register(program, at, unions) for at in range(len(registers)) if at not in chained]


def _register(program: RunProgram, at: int, unions: Unions) -> str:
    register = program.registers[at]
    rows = _rows(register.rows, unions)
    match register.keep:
        case Keep.LAST | Keep.FIRST:
            return f"the {register.keep.name.lower()} row{rows}"
        case Keep.LAST_BEFORE | Keep.FIRST_AFTER:
            steps = _steps(program.registers, register)
            end = "last" if register.keep is Keep.LAST_BEFORE else "first"
            return f"the {end} {steps + 1} rows{rows}"
        case Keep.LEAST_WHOLE | Keep.LEAST_REAL:
            return f"the row{rows} with the least {readable(program.columns[register.source].operand)}"
        case _:
            return f"the row{rows} with the greatest {readable(program.columns[register.source].operand)}"


def _steps(registers: Sequence[Register], register: Register) -> int:
    steps = 0
    while register.keep in (Keep.LAST_BEFORE, Keep.FIRST_AFTER):
        steps, register = steps + 1, registers[register.source]
    return steps


_TOTALS = {
    Total.VALUES_WHOLE: "the number of values of",
    Total.VALUES_REAL: "the number of values of",
    Total.SUM_WHOLE: "the sum of",
    Total.SUM_REAL: "the sum of",
    Total.TRUE_VALUES: "how often holds",
}


def _totals(program: RunProgram, unions: Unions) -> Iterator[str]:
    for accumulator in program.accumulators:
        counted = frozenset(
            name for name, column in zip(program.variables, accumulator.columns, strict=True) if column >= 0
        )
        rows = _rows(None if counted == frozenset(program.variables) else counted, unions)
        if accumulator.total is Total.ROWS:
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
