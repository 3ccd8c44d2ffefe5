"""Random clauses, as text, and random small tables for them. No engine here.

A clause is drawn in the order in which one would think of it: a pattern first, then what its variables mean, then what
is shown. `Names` carries the variables from one to the next. Expressions know their type, so that what is drawn passes
the type checker: whole (bigint), real (double), exact (decimal), text, moment (timestamp), truth (boolean).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

COLUMNS: dict[str, pa.DataType] = {
    "k": pa.string(),
    "g": pa.int32(),
    "id": pa.int64(),
    "x": pa.int64(),
    "y": pa.float64(),
    "d": pa.decimal128(6, 2),
    "s": pa.string(),
    "f": pa.bool_(),
    "t": pa.timestamp("us", tz="UTC"),
}
_OF_TYPE = {
    "whole": ("x", "id", "g"),
    "real": ("y",),
    "exact": ("d",),
    "text": ("s", "k"),
    "moment": ("t",),
    "truth": ("f",),
}
_NUMBERS = ("whole", "real", "exact")
_LITERALS = {
    "whole": ("0", "1", "2", "3", "-1"),
    "real": ("0.0D", "1.5D", "-2.0D", "1e0"),
    "exact": ("1.25", "0.5", "3.00"),
    "text": ("'a'", "'b'", "''", "'A'"),
    "moment": ("TIMESTAMP '2024-01-01 00:02:00'", "TIMESTAMP '2024-01-01 00:04:00'"),
    "truth": ("TRUE", "FALSE", "NULL"),
}
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Names:
    """The variables of the pattern, the union variables, and whether FINAL and MATCH_NUMBER() may be said."""

    primary: tuple[str, ...]
    unions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    in_measures: bool = False
    numbered: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.primary, *(name for name, _ in self.unions))


# --- tables -----------------------------------------------------------------------------------------------------------

_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "k": st.sampled_from(["p", "q", None]),
    "g": st.sampled_from([1, 2, None]),
    "x": st.sampled_from([None, 0, 1, 2, 3, 4, -3]),
    "y": st.sampled_from([None, 0.0, 1.0, 1.5, -2.0, float("nan"), float("inf"), -0.0]),
    "d": st.sampled_from([None, Decimal("0.50"), Decimal("1.25"), Decimal("3.00"), Decimal("-1.00")]),
    "s": st.sampled_from([None, "a", "b", "c", ""]),
    "f": st.sampled_from([None, True, False]),
    "t": st.sampled_from([None, *(_EPOCH + timedelta(minutes=minute) for minute in range(7))]),
}


@st.composite
def tables(draw: Draw, most_rows: int = 8, fewest_rows: int = 0) -> pa.Table:
    """Rows in a random order of arrival; `id` tells them apart, everything else may tie or be NULL."""
    count = draw(st.integers(fewest_rows, most_rows))
    ids = draw(st.permutations(range(count)))
    rows = [{**{name: draw(cell) for name, cell in _CELLS.items()}, "id": number} for number in ids]
    return table_of(rows)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()})


# --- patterns ---------------------------------------------------------------------------------------------------------

_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,}", "{,2}", "{1,2}", "{0,1}", "{2,3}", "{0,}")


@st.composite
def patterns(draw: Draw, letters: str = "ABC", depth: int = 3) -> str:
    """The text of a row pattern."""
    kind = draw(st.integers(0, 99)) if depth else 0
    if kind < 30:
        text = draw(st.sampled_from(letters))
        return text + (draw(_quantifiers()) if draw(st.integers(0, 2)) == 0 else "")
    inner = patterns(letters, depth - 1)
    if kind < 55:
        return " ".join(draw(st.lists(inner, min_size=2, max_size=3)))
    if kind < 70:
        text = f"({' | '.join(draw(st.lists(inner, min_size=2, max_size=3)))})"
    elif kind < 84:
        return f"({draw(inner)}){draw(_quantifiers())}"
    elif kind < 89:
        text = f"PERMUTE({', '.join(draw(st.lists(inner, min_size=2, max_size=3)))})"
    elif kind < 94:
        return "{- " + draw(inner) + " -}"
    else:
        text = draw(st.sampled_from(["()", "^", "$"]))
    return text + (draw(_quantifiers()) if draw(st.integers(0, 3)) == 0 else "")


def _quantifiers() -> st.SearchStrategy[str]:
    return st.builds(lambda text, lazy: text + ("?" if lazy else ""), st.sampled_from(_QUANTIFIERS), st.booleans())


def variables_in(pattern: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"\b[A-Z]\b", pattern)))


# --- expressions over one row -----------------------------------------------------------------------------------------


@st.composite
def of_one_row(draw: Draw, kind: str, qualifier: str, label: str, numbered: bool, depth: int = 1) -> str:
    """An operand of a navigation or an aggregate: columns behind `qualifier` ("A." or ""), and perhaps `label`."""
    column = qualifier + draw(st.sampled_from(_OF_TYPE[kind]))
    if depth == 0 or draw(st.integers(0, 9)) < 6:
        return column
    again = of_one_row(kind, qualifier, label, numbered, depth - 1)
    choice = draw(st.integers(0, 4))
    if choice == 0:
        return f"coalesce({draw(again)}, {draw(st.sampled_from(_LITERALS[kind]))})"
    if choice == 1:
        return f"CASE WHEN {qualifier}x < 2 THEN {column} END"
    if choice == 2:
        named = draw(st.sampled_from("ABC"))
        return f"CASE WHEN {label} = '{named}' THEN {column} ELSE {draw(st.sampled_from(_LITERALS[kind]))} END"
    if choice == 3 and kind == "whole":
        return f"({column} + MATCH_NUMBER())" if numbered and draw(st.booleans()) else f"({column} * 2 - 1)"
    if kind in _NUMBERS:
        return f"abs({column})"
    if kind == "text":
        return label if draw(st.booleans()) else f"upper({column})"
    return column


# --- expressions over the match ---------------------------------------------------------------------------------------


@st.composite
def references(draw: Draw, kind: str, names: Names) -> str:
    """A column, a navigation, an aggregate, CLASSIFIER or MATCH_NUMBER, of the given type."""
    variable = draw(st.sampled_from(names.all)) if names.all and draw(st.booleans()) else None
    qualifier, label = ("", "CLASSIFIER()") if variable is None else (f"{variable}.", f"CLASSIFIER({variable})")
    choice = draw(st.integers(0, 9))
    if choice < 2:
        return qualifier + draw(st.sampled_from(_OF_TYPE[kind]))
    if choice == 2 and kind == "whole":
        if names.numbered and draw(st.booleans()):
            return "MATCH_NUMBER()"
        return _running(draw, names) + _count(draw, qualifier, label, names.numbered)
    if choice == 2 and kind == "text":
        return draw(
            st.sampled_from([label, f"PREV({label})", f"LAST({label}, 1)", f"NEXT({label})", f"FIRST({label})"])
        )
    if choice < 5:
        return _running(draw, names) + _aggregate(draw, kind, qualifier, label, names.numbered)
    operand = draw(of_one_row(kind, qualifier, label, names.numbered))
    if choice < 7:
        return f"{draw(st.sampled_from(['PREV', 'NEXT']))}({operand}{_offset(draw)})"
    logical = f"{_running(draw, names)}{draw(st.sampled_from(['FIRST', 'LAST']))}({operand}{_offset(draw)})"
    if choice < 9:
        return logical
    return f"{draw(st.sampled_from(['PREV', 'NEXT']))}({logical}{_offset(draw)})"


def _offset(draw: Draw) -> str:
    return draw(st.sampled_from(["", "", ", 1", ", 2", ", 0", ", 3"]))


def _running(draw: Draw, names: Names) -> str:
    return draw(st.sampled_from(["", "", "RUNNING ", "FINAL " if names.in_measures else ""]))


def _count(draw: Draw, qualifier: str, label: str, numbered: bool) -> str:
    kind = draw(st.sampled_from(tuple(_OF_TYPE)))
    operand = draw(of_one_row(kind, qualifier, label, numbered))
    forms = [f"count({qualifier}*)", f"count({operand})", f"count(DISTINCT {operand})", f"count_if({qualifier}x < 2)"]
    return draw(st.sampled_from(forms))


def _aggregate(draw: Draw, kind: str, qualifier: str, label: str, numbered: bool) -> str:
    operand = draw(of_one_row(kind, qualifier, label, numbered))
    other = draw(of_one_row(draw(st.sampled_from(("whole", "real", "text"))), qualifier, label, numbered))
    forms = [f"min({operand})", f"max({operand})", f"min_by({operand}, {other})", f"max_by({operand}, {other})"]
    if kind in _NUMBERS:
        forms += [f"sum({operand})", f"sum({operand})"]
    if kind == "real":
        forms += [f"avg({draw(of_one_row(draw(st.sampled_from(('whole', 'real'))), qualifier, label, numbered))})"] * 2
        forms += [f"{name}({operand})" for name in ("stddev_pop", "var_samp")]
    if kind == "exact":
        forms += [f"avg({operand})"]
    if kind == "truth":
        forms += [f"bool_and({operand})", f"bool_or({operand})"]
    return draw(st.sampled_from(forms))


@st.composite
def values(draw: Draw, kind: str, names: Names, depth: int = 2) -> str:
    """A value of the given type: references with arithmetic, CASE, COALESCE around."""
    choice = draw(st.integers(0, 11)) if depth else 0
    if choice < 6:
        return draw(references(kind, names))
    if choice == 6:
        return draw(st.sampled_from(_LITERALS[kind]))
    again = values(kind, names, depth - 1)
    if choice == 7:
        return f"coalesce({draw(again)}, {draw(again)})"
    if choice == 8:
        return f"CASE WHEN {draw(conditions(names, depth - 1))} THEN {draw(again)} ELSE {draw(again)} END"
    if choice == 9 and kind == "whole" and draw(st.booleans()):
        return _converted(draw, names, depth - 1)
    if choice == 9:
        return f"nullif({draw(again)}, {draw(again)})"
    if kind in _NUMBERS:
        forms = ["({} + {})", "({} - {})", "({} * {})", "greatest({}, {})", "least({}, {})", "abs({1})", "(- {1})"]
        forms += (
            ["({1} % 3)", "({1} div 2)"] if kind == "whole" else ["({1} / 2)", "({1} % 2)"] if kind == "real" else []
        )
        return draw(st.sampled_from(forms)).format(draw(again), draw(again))
    if kind == "text":
        return draw(st.sampled_from(["({} || {})", "upper({1})", "concat({}, {})"])).format(draw(again), draw(again))
    if kind == "moment":
        return f"({draw(again)} {draw(st.sampled_from('+-'))} INTERVAL '1' MINUTE)"
    return draw(again)


def _converted(draw: Draw, names: Names, depth: int) -> str:
    """A whole number made of something else."""
    kind, form = draw(
        st.sampled_from([("text", "length({})"), ("truth", "CAST({} AS bigint)"), ("exact", "CAST({} AS int)")])
    )
    return form.format(draw(values(kind, names, depth)))


@st.composite
def conditions(draw: Draw, names: Names, depth: int = 2) -> str:
    """A condition, in parentheses where it isn't a plain call."""
    choice = draw(st.integers(0, 13)) if depth else draw(st.integers(0, 7))
    kind = draw(st.sampled_from(("whole", "whole", "real", "exact", "text", "moment")))
    value = values(kind, names, max(depth - 1, 0))
    if choice < 4:
        other = draw(value) if draw(st.booleans()) else draw(st.sampled_from(_LITERALS[kind]))
        sign = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>", "<=>", "IS DISTINCT FROM"]))
        return f"({draw(value)} {sign} {other})"
    if choice == 4 and kind == "text":
        return f"({draw(value)} {draw(st.sampled_from(['LIKE', 'NOT LIKE', 'ILIKE', 'RLIKE']))} 'a%')"
    if choice == 4 and kind == "moment":
        return f"(t - {draw(value)} <= INTERVAL '2' MINUTE)"
    if choice == 4:
        return f"({draw(value)} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))})"
    if choice == 5:
        low, high = draw(value), draw(st.sampled_from(_LITERALS[kind]))
        return f"({draw(value)} {draw(st.sampled_from(['', 'NOT ']))}BETWEEN {low} AND {high})"
    if choice == 6:
        options = draw(st.lists(st.sampled_from((*_LITERALS[kind], "NULL")), min_size=1, max_size=3))
        return f"({draw(value)} {draw(st.sampled_from(['', 'NOT ']))}IN ({', '.join(options)}))"
    if choice == 7:
        return draw(references("truth", names))
    inner = conditions(names, depth - 1)
    if choice < 10:
        return f"({draw(inner)} AND {draw(inner)})"
    if choice < 12:
        return f"({draw(inner)} OR {draw(inner)})"
    if choice == 12:
        return draw(st.sampled_from(["(NOT {})", "({} IS TRUE)", "({} IS NOT FALSE)", "if({0}, {0}, f)"])).format(
            draw(inner)
        )
    return f"CASE WHEN {draw(inner)} THEN {draw(inner)} ELSE {draw(inner)} END"


_KINDS = ("a", "b", "c")


@st.composite
def definitions(draw: Draw, name: str, names: Names) -> str | None:
    """The condition of a variable; often a simple one, so that matches are found at all."""
    choice = draw(st.integers(0, 9))
    if choice < 2:
        return None
    if choice < 4:
        return draw(
            st.sampled_from(["x < 3", "s = 'a'", "x IS NULL", "f", "y > 1", "x >= 1", "s IN ('a', 'b')", "d <= 1.25"])
        )
    if choice < 5:
        return draw(
            st.sampled_from(["x > PREV(x)", f"{name}.x >= PREV({name}.x)", "NEXT(s) = 'b'", "PREV(x, 2) IS NULL"])
        )
    return draw(conditions(names))


# --- clauses ----------------------------------------------------------------------------------------------------------

ORDERS = ("id", "id", "id DESC", "x, id", "s DESC NULLS LAST, id", "y NULLS LAST, id DESC", "t, id", "d DESC, id")
_OUTPUTS = ("", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES")
_MODES = ("ALL MATCHES", "INCREMENTAL MATCHES", "MAXIMAL MATCHES")
SHOW_TIMEOUTS = True
"""Whether clauses with WITHIN sometimes show timeouts; off until every engine under test has them."""


@st.composite
def clauses(draw: Draw, *, modes: bool = False) -> str:
    """The text of a clause over COLUMNS; with `modes`, of one that has a match mode in the place of SKIP."""
    pattern = draw(patterns("AB" if modes else draw(st.sampled_from(["AB", "ABC", "ABCD"])), 2 if modes else 3))
    primary = variables_in(pattern)
    unions = union_variables(draw, primary)
    names = Names(primary, unions, numbered=not modes)
    lines = [draw(st.sampled_from(["", "", "PARTITION BY k", "PARTITION BY g, k", "PARTITION BY f, k, g"]))]
    within = draw(st.integers(0, 7)) == 0
    order = draw(st.sampled_from(["t, id", "t DESC, id"])) if within else draw(st.sampled_from(ORDERS))
    if within or draw(st.integers(0, 9)):
        lines.append(f"ORDER BY {order}")
    lines.append("MEASURES " + ", ".join(measure_list(draw, Names(primary, unions, in_measures=True))))
    outputs = [*_OUTPUTS, "ALL ROWS PER MATCH OMIT EMPTY MATCHES"]
    if not modes and "{-" not in pattern:
        outputs.append("ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    output = draw(st.sampled_from(outputs))
    if SHOW_TIMEOUTS and within and not modes and output.startswith(("ONE", "ALL")) and "UNMATCHED" not in output:
        output += draw(st.sampled_from(["", " SHOW TIMEOUT MATCHES"]))
    lines.append(output)
    lines.append(draw(st.sampled_from(_MODES)) if modes else skip_rule(draw, names))
    lines.append(f"PATTERN ({pattern})")
    if within:
        lines.append(f"WITHIN INTERVAL '{draw(st.integers(0, 4))}' MINUTE")
    if draw(st.integers(0, 7)) == 0:
        lines.append(f"MAXLENGTH {draw(st.integers(1, 4))}")
    if unions:
        lines.append("SUBSET " + ", ".join(f"{name} = ({', '.join(members)})" for name, members in unions))
    defined = [(name, draw(definitions(name, names))) for name in primary]
    if any(condition is not None for _, condition in defined):
        lines.append("DEFINE " + ", ".join(f"{name} AS {text}" for name, text in defined if text is not None))
    return "\n".join(line for line in lines if line)


def union_variables(draw: Draw, primary: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not primary or draw(st.integers(0, 2)):
        return ()
    members = st.lists(st.sampled_from(primary), min_size=1, max_size=len(primary), unique=True)
    return tuple((name, tuple(draw(members))) for name in draw(st.sampled_from(["U", "UV"])))


def measure_list(draw: Draw, names: Names) -> list[str]:
    kinds = draw(st.lists(st.sampled_from((*_OF_TYPE, "list")), min_size=1, max_size=3))
    return [f"{draw(_lists(names) if kind == 'list' else values(kind, names))} AS m{i}" for i, kind in enumerate(kinds)]


@st.composite
def _lists(draw: Draw, names: Names) -> str:
    variable = draw(st.sampled_from(("", *names.all)))
    qualifier, label = (f"{variable}.", f"CLASSIFIER({variable})") if variable else ("", "CLASSIFIER()")
    operand = draw(of_one_row(draw(st.sampled_from(tuple(_OF_TYPE))), qualifier, label, names.numbered))
    return f"{_running(draw, names)}array_agg({draw(st.sampled_from(['', 'DISTINCT ']))}{operand})"


def skip_rule(draw: Draw, names: Names) -> str:
    rules = ["", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO NEXT ROW"]
    if names.all and draw(st.integers(0, 3)) == 0:
        target = draw(st.sampled_from(names.all))
        rules = [f"AFTER MATCH SKIP TO {where}{target}" for where in ("FIRST ", "LAST ", "")]
    return draw(st.sampled_from(rules))
