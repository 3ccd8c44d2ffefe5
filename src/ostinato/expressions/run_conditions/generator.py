"""RunProgram -> Python source of `update` and `check` for one query, ready to be compiled into the search.

The source is made from the program's integers alone: no text of a query can reach it. It says what `interpreter.py`
does instruction by instruction, with everything that is known beforehand written out: which registers a label changes,
which column is read, which values can't be NULL. Stack places become local variables, forward jumps become `if`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ostinato.expressions.run_conditions import interpreter as rt
from ostinato.expressions.run_conditions import kernel_arithmetic as arithmetic
from ostinato.expressions.run_conditions.opcodes import DIVIDE_BY_ZERO, HERE, OVERFLOW, REAL_COMPARISON, Keep, Op, Total
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.kernels.kernel_cache import inline_kernel

_NAMESPACE: dict[str, Any] = {
    "np": np,
    "OVERFLOW": OVERFLOW,
    "DIVIDE_BY_ZERO": DIVIDE_BY_ZERO,
    "SMALLEST": arithmetic.SMALLEST,
    "real_less": arithmetic.real_less,
    "real_equal": arithmetic.real_equal,
    "add_whole": arithmetic.add_whole,
    "subtract_whole": arithmetic.subtract_whole,
    "multiply_whole": arithmetic.multiply_whole,
    "fits": arithmetic.fits,
    "wrapped": arithmetic.wrapped,
    "math_function": arithmetic.math_function,
    "count_distinct": rt.count_distinct,
    "label_rank": rt.label_rank,
    "divide_whole": arithmetic.divide_whole,
    "modulo_whole": arithmetic.modulo_whole,
    "average_whole": arithmetic.average_whole,
}


def generate_functions(
    program: RunProgram, places: Sequence[int], nullable: Sequence[int]
) -> tuple[Callable[..., int], Callable[..., int]]:
    """`update` and `check` with their source compiled by numba on first use.

    `places[c]` is where column c stands in `whole` or `real`; `nullable[c]` where its validity is, or -1.
    """
    source = _Source(program, places, nullable)
    namespace = dict(_NAMESPACE)
    exec(compile(source.update(), "<generated update>", "exec"), namespace)
    exec(compile(source.check(), "<generated check>", "exec"), namespace)
    return inline_kernel(namespace["update"]), inline_kernel(namespace["check"])


class _Source:
    def __init__(self, program: RunProgram, places: Sequence[int], nullable: Sequence[int]) -> None:
        self.program = program
        self.places = [int(place) for place in places]
        self.nullable = [int(place) for place in nullable]
        self.lines: list[str] = []
        self.indent = 1

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def valid(self, column: int, row: str) -> str:
        """A condition that the value isn't NULL."""
        place = self.nullable[column]
        return "True" if place < 0 else f"conditions.valid[{place}, {row}]"

    # --- update ---

    def update(self) -> str:
        self.lines = ["def update(label, row, depth, work, conditions):"]
        self.indent = 1
        for i in range(len(self.program.registers)):
            self.put(f"work.registers[depth + 1, {i}] = work.registers[depth, {i}]")
        for i in range(len(self.program.accumulators)):
            self.put(f"work.whole[depth + 1, {i}] = work.whole[depth, {i}]")
            self.put(f"work.real[depth + 1, {i}] = work.real[depth, {i}]")
        for label, name in enumerate(self.program.variables):
            self._update_for(label, name)
        self.put("return 0")
        return "\n".join(self.lines)

    def _update_for(self, label: int, name: str) -> None:
        before = len(self.lines)
        self.put(f"if label == {label}:")
        self.indent += 1
        for i, register in enumerate(self.program.registers):
            if register.rows is None or name in register.rows:
                self._keep(i, register.keep, register.source)
        for i, accumulator in enumerate(self.program.accumulators):
            if accumulator.columns[label] >= 0:
                self._total(i, accumulator.total, accumulator.columns[label])
        self.indent -= 1
        if len(self.lines) == before + 1:  # nothing depends on this label
            self.lines.pop()

    def _keep(self, i: int, keep: Keep, source: int) -> None:
        here, old = f"work.registers[depth + 1, {i}]", f"work.registers[depth, {i}]"
        if keep is Keep.LAST:
            self.put(f"{here} = row")
        elif keep is Keep.LAST_BEFORE:
            self.put(f"{here} = work.registers[depth, {source}]")
        elif keep is Keep.FIRST:
            self.put(f"if {old} < 0:")
            self.put(f"    {here} = row")
        elif keep is Keep.FIRST_AFTER:
            self.put(f"if {old} < 0 and work.registers[depth, {source}] >= 0:")
            self.put(f"    {here} = row")
        else:
            kind = "whole" if keep in (Keep.LEAST_WHOLE, Keep.MOST_WHOLE) else "real"
            new, best = (f"conditions.{kind}[{self.places[source]}, {row}]" for row in ("row", old))
            least = keep in (Keep.LEAST_WHOLE, Keep.LEAST_REAL)
            if kind == "whole":
                better = f"{new} <= {best}" if least else f"{new} >= {best}"
            else:
                better = f"not real_less({best}, {new})" if least else f"not real_less({new}, {best})"
            self.put(f"if {self.valid(source, 'row')} and ({old} < 0 or {better}):")
            self.put(f"    {here} = row")

    def _total(self, i: int, total: Total, column: int) -> None:
        whole, real = f"work.whole[depth + 1, {i}]", f"work.real[depth + 1, {i}]"
        if total is Total.ROWS:
            self.put(f"{whole} += 1")
            return
        value = self.places[column]
        self.put(f"if {self.valid(column, 'row')}:")
        if total in (Total.VALUES_WHOLE, Total.VALUES_REAL):
            self.put(f"    {whole} += 1")
        elif total is Total.SUM_WHOLE:
            self.put(f"    value, bad = add_whole({whole}, conditions.whole[{value}, row])")
            self.put("    if bad:")
            self.put("        return OVERFLOW")
            self.put(f"    {whole} = value")
        elif total is Total.SUM_REAL:
            self.put(f"    {real} += conditions.real[{value}, row]")
        elif total is Total.SUM_AS_REAL:
            self.put(f"    {real} += float(conditions.whole[{value}, row])")
        elif total is Total.TRUE_VALUES:
            self.put(f"    {whole} += conditions.whole[{value}, row]")
        else:
            self.put("    pass")  # counted on demand

    # --- check ---

    def check(self) -> str:
        self.lines = ["def check(state, label, row, depth, key_first, key_end, number, work, conditions):"]
        self.indent = 1
        self.put("which = conditions.condition_of_state[state]")
        first, entry = self.program.first, self.program.entry
        for which in range(len(first) - 1):
            self.put(f"if which == {which}:")
            self.indent += 1
            for conjunct in range(first[which], first[which + 1]):
                self.block(entry[conjunct], entry[conjunct + 1], 0)
                self.put("if n0 or w0 == 0:")
                self.put("    return 0")
            self.put("return 1")
            self.indent -= 1
        self.put("return 1")
        return "\n".join(self.lines)

    def block(self, at: int, end: int, top: int) -> int:
        """Writes the instructions up to `end`; `top` values are on the stack. Returns how many are there then."""
        while at < end:
            op, a, b, c = self.program.code[at]
            if op in (Op.JUMP_IF_FALSE, Op.JUMP_IF_TRUE, Op.JUMP_UNLESS_NULL):
                v = top - 1
                goes_on = {
                    Op.JUMP_IF_FALSE: f"n{v} or w{v} != 0",
                    Op.JUMP_IF_TRUE: f"n{v} or w{v} == 0",
                    Op.JUMP_UNLESS_NULL: f"n{v}",
                }[Op(op)]
                self.put(f"if {goes_on}:")
                self.indent += 1
                self.put("pass")
                top = self.block(at + 1, a, top)
                self.indent -= 1
                at = a
            elif op == Op.JUMP_UNLESS_TRUE:
                at, top = self._branch(at, a, top)
            elif op == Op.POP:
                top -= 1
                at += 1
            elif op in (Op.COMPARE_WHOLE, Op.COMPARE_REAL):
                top = self._fused(Op(op), (a, b, c), self.program.code[at + 1], top)
                at += 2
            else:
                top = self._instruction(Op(op), a, b, c, top)
                at += 1
        return top

    def _fused(self, op: Op, one: tuple[int, int, int], two: tuple[int, int, int, int], top: int) -> int:
        load = Op.LOAD_REAL if op == Op.COMPARE_REAL else Op.LOAD_WHOLE
        compare, column, register = one
        shift, *other = two
        self._push(load, column, register, shift, top)
        self._push(load, other[0], other[1], other[2], top + 1)
        self._compare(REAL_COMPARISON[Op(compare)] if op == Op.COMPARE_REAL else Op(compare), top, top + 1)
        return top + 1

    def _branch(self, at: int, miss: int, top: int) -> tuple[int, int]:
        """JUMP_UNLESS_TRUE miss; value; JUMP end; miss: other; end: -- as if/else."""
        v = top - 1
        end = self.program.code[miss - 1][1]
        self.put(f"if not n{v} and w{v} != 0:")
        self.indent += 1
        self.block(at + 1, miss - 1, v)
        self.indent -= 1
        self.put("else:")
        self.indent += 1
        after = self.block(miss, end, v)
        self.indent -= 1
        return end, after

    def _instruction(self, op: Op, a: int, b: int, c: int, top: int) -> int:
        if op < 20:
            self._push(op, a, b, c, top)
            return top + 1
        if op in (Op.NOT, Op.IS_NULL, Op.IS_TRUE, Op.IS_FALSE):
            self._logic(op, top - 1)
            return top
        if op in (Op.GREATEST, Op.LEAST):
            self._extreme(op, a, top - 2, top - 1)
            return top - 1
        if op >= 60:
            self._compare(op, top - 2, top - 1)
            return top - 1
        if op in _UNARY:
            self._unary(op, a, top - 1)
            return top
        self._binary(op, a, b, top - 2, top - 1)
        return top - 1

    def _push(self, op: Op, a: int, b: int, c: int, v: int) -> None:
        """A value and whether it is NULL. Both kinds of value are set, so that numba sees one type on every path."""
        self.put(f"w{v} = np.int64(0)")
        self.put(f"r{v} = 0.0")
        if op in (Op.LOAD_WHOLE, Op.LOAD_REAL, Op.PRESENT):
            self._load(op, a, b, c, v)
        elif op == Op.WHOLE:
            self.put(f"w{v} = np.int64({a})")
            self.put(f"n{v} = False")
        elif op == Op.REAL:
            self.put(f"r{v} = conditions.reals[{a}]")
            self.put(f"n{v} = False")
        elif op == Op.TEXT:
            self.put(f"w{v} = conditions.texts[{a}]")
            self.put(f"n{v} = False")
        elif op == Op.NULL:
            self.put(f"n{v} = True")
        elif op == Op.LABEL:
            self.put(f"w{v} = label_rank({b}, {c}, label, row, depth, key_first, key_end, work, conditions)")
            self.put(f"n{v} = w{v} < 0")
        elif op == Op.NUMBER:
            self.put(f"w{v} = np.int64(number)")
            self.put(f"n{v} = False")
        elif op in (Op.TOTAL_WHOLE, Op.TOTAL_REAL):
            kind = "w" if op == Op.TOTAL_WHOLE else "r"
            array = "whole" if op == Op.TOTAL_WHOLE else "real"
            self.put(f"{kind}{v} = work.{array}[depth + 1, {a}]")
            self.put(f"n{v} = " + (f"work.whole[depth + 1, {b}] == 0" if b >= 0 else "False"))
        else:
            self.put(f"w{v} = np.int64(count_distinct({a}, label, row, depth, work, conditions))")
            self.put(f"n{v} = False")

    def _load(self, op: Op, a: int, register: int, shift: int, v: int) -> None:
        row = "row" if register == HERE else f"work.registers[depth + 1, {register}]"
        known = register == HERE and shift == 0
        self.put(f"at{v} = {row}" + (f" + {shift}" if shift else ""))
        if known:
            self.put(f"n{v} = False")
        else:
            missing = [] if register == HERE else [f"{row} < 0"]
            if shift:
                missing.append(f"at{v} < key_first or at{v} >= key_end")
            self.put(f"n{v} = {' or '.join(missing)}")
        if op == Op.PRESENT:
            self.put(f"w{v} = np.int64(1)")
            return
        self.put(f"if not n{v}:")
        value = f"conditions.{'real' if op == Op.LOAD_REAL else 'whole'}[{self.places[a]}, at{v}]"
        self.put(f"    {'r' if op == Op.LOAD_REAL else 'w'}{v} = {value}")
        if self.nullable[a] >= 0:
            self.put(f"    n{v} = not {self.valid(a, f'at{v}')}")

    def _logic(self, op: Op, v: int) -> None:
        if op == Op.NOT:
            self.put(f"w{v} = np.int64(1) - w{v}")
            return
        truth = {Op.IS_NULL: f"n{v}", Op.IS_TRUE: f"not n{v} and w{v} != 0", Op.IS_FALSE: f"not n{v} and w{v} == 0"}[op]
        self.put(f"w{v} = np.int64(1) if {truth} else np.int64(0)")
        self.put(f"n{v} = False")

    def _extreme(self, op: Op, real: int, x: int, y: int) -> None:
        low, high = (x, y) if op == Op.GREATEST else (y, x)
        better = f"real_less(r{low}, r{high})" if real else f"w{low} < w{high}"
        self.put(f"if not n{y} and (n{x} or {better}):")
        self.put(f"    r{x}, w{x}, n{x} = r{y}, w{y}, False")

    def _compare(self, op: Op, x: int, y: int) -> None:
        if op == Op.AND:
            self.put(f"false = (not n{x} and w{x} == 0) or (not n{y} and w{y} == 0)")
            self.put(f"n{x} = (n{x} or n{y}) and not false")
            self.put(f"w{x} = np.int64(0) if false else np.int64(1)")
            return
        if op == Op.OR:
            self.put(f"true = (not n{x} and w{x} != 0) or (not n{y} and w{y} != 0)")
            self.put(f"n{x} = (n{x} or n{y}) and not true")
            self.put(f"w{x} = np.int64(1) if true else np.int64(0)")
            return
        holds = {
            Op.LESS: f"w{x} < w{y}",
            Op.LESS_EQUAL: f"w{x} <= w{y}",
            Op.EQUAL: f"w{x} == w{y}",
            Op.SAME: f"w{x} == w{y}",
            Op.LESS_REAL: f"real_less(r{x}, r{y})",
            Op.LESS_EQUAL_REAL: f"not real_less(r{y}, r{x})",
            Op.EQUAL_REAL: f"real_equal(r{x}, r{y})",
            Op.SAME_REAL: f"real_equal(r{x}, r{y})",
        }[op]
        if op in (Op.SAME, Op.SAME_REAL):
            self.put(f"w{x} = np.int64(1) if (n{x} and n{y}) or (not n{x} and not n{y} and {holds}) else np.int64(0)")
            self.put(f"n{x} = False")
        else:
            self.put(f"n{x} = n{x} or n{y}")
            self.put(f"w{x} = np.int64(1) if {holds} else np.int64(0)")

    def _unary(self, op: Op, a: int, v: int) -> None:
        self.put(f"if not n{v}:")
        self.indent += 1
        if op == Op.TO_REAL:
            self.put(f"r{v} = w{v} / {10.0**a!r}" if a else f"r{v} = float(w{v})")
        elif op == Op.TO_FLOAT:
            self.put(f"r{v} = np.float64(np.float32(r{v}))")
        elif op == Op.RESCALE:
            self.put(f"w{v}, bad = multiply_whole(w{v}, np.int64({a}))")
            self.put("if bad:")
            self.put("    return OVERFLOW")
        elif op in (Op.NEGATE, Op.ABSOLUTE):
            self.put(f"if {op == Op.NEGATE} or w{v} < 0:")
            if a > 0:
                self.put(f"    if w{v} == SMALLEST or not fits(-w{v}, {a}):")
                self.put("        return OVERFLOW")
            self.put(f"    w{v} = wrapped(np.int64(np.uint64(0) - np.uint64(w{v})), {abs(a)})")
        elif op == Op.NEGATE_REAL:
            self.put(f"r{v} = -r{v}")
        elif op == Op.ABSOLUTE_REAL:
            self.put(f"r{v} = abs(r{v})")
        else:
            self.put(f"if {a in arithmetic.NULL_OUTSIDE_DOMAIN} and r{v} <= 0:")
            self.put(f"    n{v} = True")
            self.put("else:")
            self.put(f"    r{v} = math_function({a}, r{v})")
        self.indent -= 1

    def _binary(self, op: Op, a: int, b: int, x: int, y: int) -> None:
        self.put(f"n{x} = n{x} or n{y}")
        self.put(f"if not n{x}:")
        self.indent += 1
        simple = {Op.ADD_REAL: "+", Op.SUBTRACT_REAL: "-", Op.MULTIPLY_REAL: "*", Op.POWER: "**"}
        if op in simple:
            self.put(f"r{x} = r{x} {simple[op]} r{y}")
        elif op in (Op.DIVIDE_REAL, Op.MODULO_REAL):
            self.put(f"if r{y} == 0:")
            self.put("    return DIVIDE_BY_ZERO" if b else f"    n{x} = True")
            self.put("else:")
            self.put(f"    r{x} = r{x} / r{y}" if op == Op.DIVIDE_REAL else f"    r{x} = np.fmod(r{x}, r{y})")
        elif op in (Op.DIVIDE, Op.MODULO):
            self.put(f"if w{y} == 0:")
            self.put("    return DIVIDE_BY_ZERO" if b else f"    n{x} = True")
            self.put("else:")
            self.put(f"    w{x}, bad = {'divide' if op == Op.DIVIDE else 'modulo'}_whole(w{x}, w{y})")
            self._fitted(a, x, extra=1)
        elif op == Op.AVERAGE:
            self.put(f"w{x}, bad = average_whole(w{x}, w{y}, np.int64({a}))")
            self.put("if bad:")
            self.put("    return OVERFLOW")
        else:
            text = {Op.ADD: "add_whole({0}, {1})", Op.MULTIPLY: "multiply_whole({0}, {1})"}.get(op)
            if text is None:
                self.put(f"w{x}, bad = subtract_whole(w{x}, w{y})")
            else:
                self.put(f"w{x}, bad = " + text.format(f"w{x}", f"w{y}"))
            self._fitted(a, x)
        self.indent -= 1

    def _fitted(self, a: int, x: int, extra: int = 0) -> None:
        self.indent += extra
        if a > 0:
            self.put(f"if bad or not fits(w{x}, {a}):")
            self.put("    return OVERFLOW")
        else:
            self.put(f"w{x} = wrapped(w{x}, {abs(a) or 64})")
        self.indent -= extra


_UNARY = frozenset(
    (Op.TO_REAL, Op.TO_FLOAT, Op.RESCALE, Op.NEGATE, Op.ABSOLUTE, Op.NEGATE_REAL, Op.ABSOLUTE_REAL, Op.MATH)
)
