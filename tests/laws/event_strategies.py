"""Random event queries, as text, and random small tables for them. No engine here.

A query is drawn in this order: the pattern, conditions on its variables, groups and windows, and the RETURN clause.
`Knobs` switch features on and off. All queries parse and bind. The product may still decline them, for example for two
variables that aren't adjacent, or for an ambiguous NOT.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_checks import repeating_variables, variables_outside_not
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.event_queries.language.event_query import BoundEventQuery, occurrences

Draw = Callable[[st.SearchStrategy[Any]], Any]

COLUMNS: dict[str, pa.DataType] = {
    "id": pa.int64(),
    "kind": pa.string(),
    "ts": pa.timestamp("us", tz="UTC"),
    "g": pa.string(),
    "k": pa.int32(),
    "x": pa.int64(),
    "y": pa.float64(),
    "d": pa.decimal128(6, 2),
}


@dataclass(frozen=True, slots=True)
class Knobs:
    """The features that a query may use."""

    aggregates: bool = True
    matches: bool = True
    negation: bool = True
    conjunction: bool = True
    adjacent: bool = True
    arbitrary_adjacent: bool = True
    """Conditions between neighbours that aren't a single comparison."""
    several_variables: bool = True
    """Conditions over several variables. Aggregate queries get them rarely."""
    same: bool = True
    groups: bool = True
    windows: bool = True
    spans: bool = True
    selections: tuple[str, ...] = (
        "",
        "",
        "",
        "STRICT",
        "SKIP TILL NEXT MATCH",
        "SKIP TILL ANY MATCH",
        "STRICT ON (A, B)",
        "STRICT ON (D)",
    )
    reals: bool = True
    decimals: bool = True
    defined_types: bool = True
    """TYPE A AS x < 2, ...: an event may be of several types."""
    depth: int = 3


EVERYTHING = Knobs()
AGGREGATES_ONLY = Knobs(matches=False)
MATCHES_ONLY = Knobs(aggregates=False, conjunction=False)


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    table: pa.Table

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows


def bind(text: str) -> BoundEventQuery:
    """Binds a query drawn here to COLUMNS."""
    return bind_event_query(parse_event_query(text), tuple(COLUMNS))


def _one_in(times: int, draw: Draw) -> bool:
    """True with probability 1/`times`. Hypothesis shrinks it to False."""
    return bool(draw(st.integers(0, times - 1)) == 1)


# --- tables -----------------------------------------------------------------------------------------------------------

SPECIAL = (float("nan"), float("inf"), -0.0)
_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "g": st.sampled_from(["p", "p", "p", "p", "q", None]),
    "k": st.sampled_from([1, 1, 1, 1, 2, None]),
    "x": st.sampled_from([0, 1, 2, 3, 4, -3, 1, 2, None]),
    "d": st.sampled_from([None, Decimal("0.50"), Decimal("1.25"), Decimal("3.00"), Decimal("-1.00")]),
}
_REALS = (0.0, 1.0, 1.5, -2.0, 0.5, 1.5, None)
_BEGINS = (datetime(2024, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 57, tzinfo=UTC))


@st.composite
def event_tables(
    draw: Draw, most_rows: int = 9, *, ties: bool = True, special: bool = True, kinds: str = "AABBCCD"
) -> pa.Table:
    """Rows with distinct `id`s in random arrival order. Their times are multiples of half a second.

    With `ties`, several rows may have the same time, and some have no time. Sums of the doubles are exact in any order.
    With `special`, some values are NaN, infinity or -0.0. Types are drawn from `kinds`; a type may occur there
    several times.
    """
    many = st.integers(most_rows * 2 // 3, most_rows)
    count = draw(st.one_of(st.integers(0, most_rows), many, many))
    begin = draw(st.sampled_from(_BEGINS))
    offsets = draw(st.lists(st.integers(0, most_rows + 3), min_size=count, max_size=count, unique=not ties))
    reals = st.sampled_from((*_REALS, *SPECIAL) if special else _REALS)
    rows = []
    for number, offset in enumerate(offsets):
        at = None if ties and _one_in(20, draw) else begin + timedelta(milliseconds=500 * offset)
        row = {name: draw(cell) for name, cell in _CELLS.items()}
        rows.append({**row, "id": number, "kind": draw(st.sampled_from(kinds)), "ts": at, "y": draw(reals)})
    return event_table(rows)


@st.composite
def seeded_event_tables(draw: Draw, most_rows: int = 12, *, kinds: str = "AABBCCD") -> pa.Table:
    """Like `event_tables`, but denser and from a seed. Hypothesis repeats values, so few queries match its tables."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = [
        {
            "id": number,
            "kind": str(rng.choice(list(kinds))),
            "ts": _BEGINS[0] + timedelta(milliseconds=125 * int(rng.integers(0, 2 * most_rows))),
            "g": "p" if rng.random() < 0.8 else "q",
            "k": 1 if rng.random() < 0.8 else 2,
            "x": None if rng.random() < 0.1 else int(rng.integers(-1, 5)),
            "y": float(rng.integers(-2, 4)),
            "d": Decimal("1.25"),
        }
        for number in range(draw(st.integers(most_rows * 2 // 3, most_rows)))
    ]
    return event_table(rows)


def event_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table. Columns that a row lacks are NULL."""
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in COLUMNS.items()})


# --- patterns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PatternElement:
    """Text of a pattern or sub-pattern. `empty`: it also matches no events at all."""

    text: str
    empty: bool
    starts_with_not: bool = False
    ends_with_not: bool = False


COUNTED = ("{2}", "{1,2}", "{2,}", "{,2}")
EMPTY_QUANTIFIERS = ("*", "?", "{,2}")


class PatternDrawer:
    """Draws patterns over the types A, B and C, with D only under NOT. New variables get increasing numbers."""

    def __init__(self, draw: Draw, *, negation: bool, repeats: str = "") -> None:
        """`repeats`: a type that one element of the outermost SEQ repeats."""
        self.draw = draw
        self.negation = negation
        self.repeats = repeats
        self.variable_count = 0
        # If every position has its own variable, no word matches in two ways, so few NOTs are ambiguous.
        self.distinct = negation or _one_in(5, draw) or (repeats != "" and _one_in(2, draw))

    def pattern(self, depth: int, *, outermost: bool = False) -> PatternElement:
        """Draws mostly a SEQ if `outermost`, else mostly one event. Small tables rarely match long patterns."""
        choice = self.draw(st.integers(0, 9)) if depth else 0
        if outermost and self.repeats:
            return self._sequence(depth, self.repeats)
        if choice < (1 if outermost else 5):
            return self._event()
        if choice < 7:
            return self._sequence(depth)
        if choice < 8:
            return self._one_of(depth)
        body = self.pattern(depth - 1)
        quantifier = self.draw(st.sampled_from(["+", "+", "*", "?", "+", "*", *COUNTED]))
        return PatternElement(
            f"({body.text}){quantifier}{self._without()}",
            body.empty or quantifier in EMPTY_QUANTIFIERS,
            body.starts_with_not,
            body.ends_with_not,
        )

    def _without(self) -> str:
        """A WITHOUT behind a repetition, sometimes."""
        if not self.negation or not _one_in(4, self.draw):
            return ""
        absent = self.draw(st.sampled_from(["D{}", "D{}", "C{}", "(C{} OR D{})"]))
        return f" WITHOUT {self._with_variables(absent)}"

    def _event(
        self, quantifiers: tuple[str, ...] = (*("", "", "", "+", "+", "*", "?") * 3, *COUNTED), kinds: str = "ABC"
    ) -> PatternElement:
        quantifier = self.draw(st.sampled_from(quantifiers))
        kind = self.draw(st.sampled_from(kinds))
        variable = self._new_variable(kind) if self.distinct or _one_in(4, self.draw) else ""
        without = self._without() if quantifier not in ("", "?") else ""
        return PatternElement(f"{kind}{quantifier}{variable}{without}", quantifier in EMPTY_QUANTIFIERS)

    def _new_variable(self, kind: str) -> str:
        self.variable_count += 1
        return f" {kind.lower()}{self.variable_count}"

    def _one_of(self, depth: int) -> PatternElement:
        elements = [self.pattern(depth - 1) for _ in range(self.draw(st.integers(2, 3)))]
        return PatternElement(
            f"({' OR '.join(element.text for element in elements)})",
            empty=any(element.empty for element in elements),
            starts_with_not=any(element.starts_with_not for element in elements),
            ends_with_not=any(element.ends_with_not for element in elements),
        )

    def _sequence(self, depth: int, repeats: str = "") -> PatternElement:
        """Draws a SEQ. Neighbours of a NOT take at least one event, also if the NOT is at the edge of an element."""
        elements: list[PatternElement] = []
        length = self.draw(st.integers(2, 3))
        repeated = self.draw(st.integers(0, length - 1)) if repeats else None
        for index in range(length):
            if index == repeated:
                element = self._event(("+",), repeats)
            else:
                element = self._event(("",)) if repeats and self.draw(st.booleans()) else self.pattern(depth - 1)
            before = elements[-1] if elements else PatternElement("", empty=False)
            if (before.ends_with_not and element.empty) or (element.starts_with_not and before.empty):
                element = self._event(("", "+"))
            elements.append(element)
        texts = [element.text for element in elements]
        starts, ends = elements[0].starts_with_not, elements[-1].ends_with_not
        gaps = [
            gap
            for gap in range(len(elements) + 1)
            if not any(element.empty for element in elements[max(gap - 1, 0) : gap + 1])
        ]
        if self.negation and gaps and self.draw(st.booleans()):
            gap = self.draw(st.sampled_from(gaps))
            texts.insert(gap, f"NOT {self._absent()}")
            starts, ends = starts or gap == 0, ends or gap == len(elements)
        return PatternElement(f"SEQ({', '.join(texts)})", all(element.empty for element in elements), starts, ends)

    def _absent(self) -> str:
        forms = [
            "D{}",
            "D{}",
            "C{}",
            "A{}",
            "D+{}",
            "SEQ(C{}, D{})",
            "SEQ(D{}, D+{})",
            "(C{} OR D{})",
            "SEQ(D{}, A*{}, B{})",
        ]
        return self._with_variables(self.draw(st.sampled_from(forms)))

    def _with_variables(self, form: str) -> str:
        """The form with a new variable in each `{}`."""
        kinds = [before[-1].rstrip("+*") or before[-2] for before in form.split("{}")[:-1]]
        return form.format(*(self._new_variable(kind) for kind in kinds))


# --- conditions -------------------------------------------------------------------------------------------------------

COMPARISONS = ("<", "<=", ">", ">=", "=", "<>")


@dataclass(frozen=True, slots=True)
class Names:
    """Qualifiers of columns: variables, variables under NOT, and types that don't occur under NOT."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    types: tuple[str, ...]
    repeating: frozenset[str]

    @property
    def qualifiers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.present, *self.types)))


def names_of(pattern: str) -> Names:
    parsed = parse_event_pattern(pattern)
    type_of = {event.variable: event.type for event in occurrences(parsed)}
    present = variables_outside_not(parsed)
    under = tuple(name for name in type_of if name not in present)
    hidden = {type_of[name] for name in under}
    types = tuple(dict.fromkeys(type_of[name] for name in present if type_of[name] not in hidden))
    return Names(present, under, types, repeating_variables(parsed))


def _numbers(knobs: Knobs) -> tuple[str, ...]:
    return ("x", "x", *(("y",) if knobs.reals else ()), *(("d",) if knobs.decimals else ()))


def _local(draw: Draw, names: Names) -> str:
    qualifier = draw(st.sampled_from([f"{name}." for name in (*names.qualifiers, *names.absent)]))
    forms = [
        "{0}x < 3",
        "{0}x < 4",
        "{0}x >= 0",
        "{0}x IS NOT NULL",
        "{0}x <> 2",
        "{0}y > 0",
        "{0}d <= 1.25",
        "{0}x % 2 = 0",
    ]
    forms += ["({0}x > 1 OR {0}y < 1)", "x > -3", "y IS NOT NULL", "x + 1 > 0"]
    return str(draw(st.sampled_from(forms))).format(qualifier)


def _adjacent(draw: Draw, names: Names, knobs: Knobs) -> str:
    """A condition between neighbours of one variable, of a repeating one if there is one."""
    name = draw(st.sampled_from(sorted(names.repeating) or [*names.present, *names.absent]))
    step = draw(st.sampled_from(["NEXT", "PREV"]))
    column, op = draw(st.sampled_from(_numbers(knobs))), draw(st.sampled_from(COMPARISONS))
    forms = ["{step}({name}).{column} {op} {name}.{column}", "{name}.{column} {op} {step}({name}).{column}"]
    forms += ["{step}({name}).x {op} {name}.x + 1"]
    if knobs.arbitrary_adjacent and _one_in(3, draw):
        forms = ["({step}({name}).x + {name}.x) % 3 <> 0", "{step}({name}).x {op} {name}.x OR {name}.x IS NULL"]
        forms += ["{step}({name}).x - {name}.x BETWEEN -1 AND 2", "NOT ({step}({name}).x = 1 AND {name}.x = 2)"]
        forms = [f"({form})" for form in forms]
    return str(draw(st.sampled_from(forms))).format(step=step, name=name, column=column, op=op)


def _several(draw: Draw, names: Names) -> str:
    """A condition over two variables, or with an aggregate of one. At most one repeating variable isn't aggregated."""
    single = [name for name in names.present if name not in names.repeating]
    one = f"{draw(st.sampled_from(single))}.x" if single else f"FIRST({names.present[0]}.x)"
    others = [name for name in names.present if f"{name}.x" != one]
    op = draw(st.sampled_from(COMPARISONS))
    if not others:
        return f"{one} {op} 1"
    other = draw(st.sampled_from(others))
    forms = ["{one} {op} {other}.x", "{one} + {other}.x {op} 3", "abs({one} - {other}.x) {op} 2"]
    if other in names.repeating:
        forms = ["{one} {op} {other}[i].x", "SUM({other}[i].x) {op} {one}", "COUNT({other}.x) {op} {one}"]
        forms += [
            "FIRST({other}.x) {op} {one}",
            "MAX({other}.x) - MIN({other}.x) {op} {one}",
            "AVG({other}.x) {op} {one}",
        ]
        forms += ["FIRST({other}.x) {op} LAST({other}.x)"]
    return str(draw(st.sampled_from(forms))).format(one=one, other=other, op=op)


def _conditions(draw: Draw, names: Names, knobs: Knobs, *, several: bool) -> list[str]:
    conditions = []
    if knobs.same and _one_in(5, draw):
        conditions.append(
            draw(st.sampled_from(["SAME[k]", "[k]", "SAME[k, g]", "SAME[k, g]", "SAME[y]" if knobs.reals else "[k]"]))
        )
    if _one_in(4, draw):
        conditions.append(_local(draw, names))
    if knobs.adjacent and _one_in(3, draw):
        conditions.extend(_adjacent(draw, names, knobs) for _ in range(draw(st.sampled_from([1, 1, 2]))))
    if several and _one_in(3, draw):
        conditions.append(_several(draw, names))
    return conditions


# --- queries ----------------------------------------------------------------------------------------------------------

_SPANS = ("WITHIN 1 SECOND", "WITHIN 2 SECONDS", "WITHIN INTERVAL '3' SECOND", "WITHIN 3 EVENTS", "WITHIN 5 EVENTS")
_WINDOWS = (
    "WITHIN 2 SECONDS TUMBLE",
    "WITHIN 3 SECONDS SLIDE 1 SECOND",
    "WITHIN 3 SECONDS SLIDE 2 SECONDS",
    "WITHIN 2 SECONDS SLIDE 3 SECONDS",
    "WITHIN 4 EVENTS TUMBLE",
    "WITHIN 4 EVENTS SLIDE 2 EVENTS",
    "WITHIN 5 EVENTS SLIDE 3 EVENTS",
    "WITHIN 6 EVENTS SLIDE 1 EVENT",
    "WITHIN 3 EVENTS SLIDE 4 EVENTS",
)
_TYPES = (
    "TYPE A AS kind = 'A' OR x = 1, B AS kind IN ('B', 'A') AND x > 0, C AS kind = 'C', D AS y > 1",
    "TYPE A AS x < 2, B AS x >= 1, C AS kind = 'C', D AS kind = 'D' OR x IS NULL",
)


@st.composite
def event_queries(draw: Draw, knobs: Knobs = EVERYTHING) -> str:
    """The text of a query over COLUMNS, with TYPE and TIME."""
    returns_matches = knobs.matches and (not knobs.aggregates or draw(st.booleans()))
    both = knobs.conjunction and not returns_matches and _one_in(10, draw)
    drawer = PatternDrawer(draw, negation=knobs.negation and not both and _one_in(3, draw))
    conjuncts = [drawer.pattern(knobs.depth if not both else 2, outermost=True) for _ in range(2 if both else 1)]
    pattern = " AND ".join(conjunct.text for conjunct in conjuncts)
    names = names_of(pattern)
    types = _TYPES if knobs.defined_types and _one_in(8, draw) else ("TYPE kind",)
    selections = [each for each in knobs.selections if not (both and "ON" in each)]
    lines = [f"{draw(st.sampled_from(types))} TIME ts", f"PATTERN {pattern}", draw(st.sampled_from(selections))]
    several = knobs.several_variables and not both and (returns_matches or _one_in(6, draw))
    conditions = _conditions(draw, names, knobs, several=several)
    if conditions:
        lines.append("WHERE " + " AND ".join(conditions))
    group = draw(st.sampled_from(["", "", "", "g", "g", "g, k"])) if knobs.groups else ""
    if group:
        lines.append(f"GROUP BY {group}")
    within = _within(draw, knobs, needed=conjuncts[-1].ends_with_not)
    lines.append(within)
    if returns_matches:
        lines.append("RETURN MATCHES")
    else:
        lines.append("RETURN " + ", ".join(_returned(draw, names, knobs, group, within, only_count=both)))
    return "\n".join(line for line in lines if line)


def _within(draw: Draw, knobs: Knobs, *, needed: bool) -> str:
    options = [*(_SPANS if knobs.spans else ()), *(_WINDOWS if knobs.windows else ())]
    if needed:
        return str(draw(st.sampled_from(options or _SPANS)))
    return str(draw(st.sampled_from(options))) if options and _one_in(2, draw) else ""


def _returned(draw: Draw, names: Names, knobs: Knobs, group: str, within: str, *, only_count: bool) -> list[str]:
    items = [name for name in group.split(", ") if name and draw(st.integers(0, 4))]
    if within in _WINDOWS and _one_in(4, draw):
        items.append("window_start")
    if only_count:
        return [*items, draw(st.sampled_from(["COUNT(*)", "COUNT(*)", "COUNT(*) * 2 AS pairs"]))]
    count = draw(st.integers(1, 4))
    return [*items, *(f"{_computed(draw, names, knobs)} AS m{number}" for number in range(count))]


def _computed(draw: Draw, names: Names, knobs: Knobs) -> str:
    """An aggregate, or sometimes arithmetic with it. Only the last step divides, and never by zero."""
    one = _aggregate(draw, names, knobs)
    if "ts" in one or not _one_in(5, draw):
        return one
    forms = ["{0} + {1}", "{0} * 2 - {1}", "-{0}", "({0} - 1.5) * 2", "{0} / (COUNT(*) + 1)", "({0} - {1}) / 4"]
    other = draw(st.sampled_from(["COUNT(*)", f"SUM({names.present[0]}.x)", f"MAX({names.present[-1]}.x)"]))
    return str(draw(st.sampled_from(forms))).format(one, other)


def _aggregate(draw: Draw, names: Names, knobs: Knobs) -> str:
    name = draw(st.sampled_from(names.qualifiers))
    if not draw(st.integers(0, 2)):
        return str(draw(st.sampled_from(["COUNT(*)", f"COUNT({name})"])))
    function = draw(st.sampled_from(["COUNT", "SUM", "SUM", "AVG", "MIN", "MAX"]))
    operands = [*(f"{name}.{column}" for column in _numbers(knobs)), f"{name}.x * 2 - 1"]
    if function in ("MIN", "MAX"):
        operands.append(f"{name}.ts")
    return f"{function}({draw(st.sampled_from(operands))})"


# --- workloads --------------------------------------------------------------------------------------------------------

_MEASURES = (("",), ("",), _WINDOWS[:4], _WINDOWS[4:])
"""The windows of a workload: none, by time, or by events. Only queries with the same measure share."""
_SUMS = ("SUM({}.y)", "SUM({}.y)", "SUM({}.x)", "AVG({}.y)", "AVG({}.x)")
_OTHERS = ("COUNT({})", "COUNT({}.x)", "COUNT({}.y)", "MIN({}.x)", "MIN({}.y)", "MAX({}.x)", "MAX({}.y)")


@st.composite
def sharing_workloads(draw: Draw) -> list[str]:
    """Two to four different queries over the same groups that repeat events of the same type.

    Each sums integers or doubles of every variable, and has another aggregate of it. Some have conditions between
    neighbours.
    """
    kind = draw(st.sampled_from("AB"))
    group = draw(st.sampled_from(["", "", "g"]))
    windows = draw(st.sampled_from(_MEASURES))
    count = draw(st.sampled_from([2, 2, 3, 4]))
    return draw(st.lists(_sharing_query(kind, group, windows), min_size=count, max_size=count, unique=True))


@st.composite
def _sharing_query(draw: Draw, kind: str, group: str, windows: tuple[str, ...]) -> str:
    drawer = PatternDrawer(draw, negation=_one_in(4, draw), repeats=kind)
    pattern = drawer.pattern(draw(st.sampled_from([1, 1, 2])), outermost=True)
    names = names_of(pattern.text)
    lines = ["TYPE kind TIME ts", f"PATTERN {pattern.text}"]
    if _one_in(5, draw):
        condition = _adjacent(draw, names, Knobs(decimals=False)) if draw(st.booleans()) else _local(draw, names)
        lines.append(f"WHERE {condition}")
    if group:
        lines.append(f"GROUP BY {group}")
    within = draw(st.sampled_from(_WINDOWS[:4] if pattern.ends_with_not and not any(windows) else windows))
    aggregates = [
        draw(st.sampled_from(templates)).format(name) for name in names.present for templates in (_SUMS, _OTHERS)
    ]
    items = [f"{aggregate} AS m{i}" for i, aggregate in enumerate(aggregates)]
    return "\n".join([*lines, *([within] if within else []), f"RETURN {', '.join([*items, 'COUNT(*) AS n'])}"])


@st.composite
def event_examples(draw: Draw, knobs: Knobs = EVERYTHING, most_rows: int = 9, *, ties: bool = True) -> Example:
    """A query, and a table in which the types of its pattern are frequent, so that most examples have matches."""
    text = draw(event_queries(knobs))
    pattern = "".join(re.findall(r"(?:PATTERN|STRICT ON) .*", text))
    kinds = "".join(re.findall(r"\b[A-D]\b", pattern)) + ("E" if _one_in(3, draw) else "")
    return Example(text, draw(event_tables(most_rows, ties=ties, special=knobs.reals, kinds=kinds)))
