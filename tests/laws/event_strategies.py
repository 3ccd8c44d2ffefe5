"""Random event queries, as text, and random small tables for them. No engine here.

A query is drawn in the order in which one would think of it: a pattern first, then conditions on its variables, then
groups and windows, then what is returned. `Knobs` say what may occur; what is drawn parses and binds, though the
product may still decline it (two variables that aren't adjacent, an ambiguous NOT).
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
DECLINED = frozenset(
    {"AGGREGATE_NEEDS_ADJACENT", "AMBIGUOUS_NEGATION", "CONJUNCTION_NOT_SUPPORTED", "PATTERN_TOO_LARGE"}
)
"""Codes by which the product may decline a query drawn here."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What may occur in a query."""

    aggregates: bool = True
    matches: bool = True
    negation: bool = True
    conjunction: bool = True
    adjacent: bool = True
    arbitrary_adjacent: bool = True
    """Conditions between neighbours that are no single comparison."""
    several_variables: bool = True
    """Conditions over several variables: rare ones, between neighbours, in aggregate queries; any with matches."""
    same: bool = True
    groups: bool = True
    windows: bool = True
    spans: bool = True
    selections: tuple[str, ...] = ("", "", "", "STRICT", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
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
    """A query drawn here, tied to COLUMNS."""
    return bind_event_query(parse_event_query(text), tuple(COLUMNS))


def _one_in(times: int, draw: Draw) -> bool:
    """True about once in so many times; what hypothesis shrinks goes without it."""
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
    """Rows in a random order of arrival, a second or less apart; `id` tells them apart.

    With `ties` several may have one time, or none. Numbers are such that doubles add up exactly in any order; with
    `special` there are NaN, infinity and -0.0 among them. `kinds` are the types of the events, each as often as given.
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
    """As `event_tables`, but denser and from a seeded generator: hypothesis repeats values, so few queries match."""
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
    """Rows as a table; what a row doesn't name is NULL."""
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in COLUMNS.items()})


# --- patterns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a pattern; `empty`: it may take no event."""

    text: str
    empty: bool
    starts_with_not: bool = False
    ends_with_not: bool = False


class PatternDrawer:
    """Draws a pattern over the types A, B, C, and D under NOT. Fresh variables have numbers that go up."""

    def __init__(self, draw: Draw, *, negation: bool, repeats: str = "") -> None:
        """`repeats`: a type that the outermost SEQ repeats at one of its places."""
        self.draw = draw
        self.negation = negation
        self.repeats = repeats
        self.named = 0
        # Where every place has a variable of its own no two ways spell one word: few ambiguous NOTs.
        self.distinct = negation or _one_in(5, draw) or (repeats != "" and _one_in(2, draw))

    def pattern(self, depth: int, *, whole: bool = False) -> Part:
        """Mostly a SEQ as the whole pattern, mostly events inside: long words are rare in small tables."""
        choice = self.draw(st.integers(0, 9)) if depth else 0
        if whole and self.repeats:
            return self._sequence(depth, self.repeats)
        if choice < (1 if whole else 5):
            return self._event()
        if choice < 7:
            return self._sequence(depth)
        if choice < 8:
            return self._one_of(depth)
        body = self.pattern(depth - 1)
        quantifier = self.draw(st.sampled_from(["+", "+", "*", "?"]))
        return Part(
            f"({body.text}){quantifier}", body.empty or quantifier != "+", body.starts_with_not, body.ends_with_not
        )

    def _event(self, quantifiers: tuple[str, ...] = ("", "", "", "+", "+", "*", "?"), kinds: str = "ABC") -> Part:
        quantifier = self.draw(st.sampled_from(quantifiers))
        kind = self.draw(st.sampled_from(kinds))
        variable = self._fresh(kind) if self.distinct or _one_in(4, self.draw) else ""
        return Part(f"{kind}{quantifier}{variable}", quantifier in ("*", "?"))

    def _fresh(self, kind: str) -> str:
        self.named += 1
        return f" {kind.lower()}{self.named}"

    def _one_of(self, depth: int) -> Part:
        parts = [self.pattern(depth - 1) for _ in range(self.draw(st.integers(2, 3)))]
        return Part(
            f"({' OR '.join(part.text for part in parts)})",
            empty=any(part.empty for part in parts),
            starts_with_not=any(part.starts_with_not for part in parts),
            ends_with_not=any(part.ends_with_not for part in parts),
        )

    def _sequence(self, depth: int, repeats: str = "") -> Part:
        """SEQ. Next to a NOT, also to one at the edge of a part, stands what takes an event for sure."""
        parts: list[Part] = []
        length = self.draw(st.integers(2, 3))
        repeated = self.draw(st.integers(0, length - 1)) if repeats else None
        for place in range(length):
            if place == repeated:
                part = self._event(("+",), repeats)
            else:
                part = self._event(("",)) if repeats and self.draw(st.booleans()) else self.pattern(depth - 1)
            before = parts[-1] if parts else Part("", empty=False)
            if (before.ends_with_not and part.empty) or (part.starts_with_not and before.empty):
                part = self._event(("", "+"))
            parts.append(part)
        texts = [part.text for part in parts]
        starts, ends = parts[0].starts_with_not, parts[-1].ends_with_not
        places = [at for at in range(len(parts) + 1) if not any(part.empty for part in parts[max(at - 1, 0) : at + 1])]
        if self.negation and places and self.draw(st.booleans()):
            at = self.draw(st.sampled_from(places))
            texts.insert(at, f"NOT {self._absent()}")
            starts, ends = starts or at == 0, ends or at == len(parts)
        return Part(f"SEQ({', '.join(texts)})", all(part.empty for part in parts), starts, ends)

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
        form: str = self.draw(st.sampled_from(forms))
        kinds = [before[-1].rstrip("+*") or before[-2] for before in form.split("{}")[:-1]]
        return form.format(*(self._fresh(kind) for kind in kinds))


# --- conditions -------------------------------------------------------------------------------------------------------

COMPARISONS = ("<", "<=", ">", ">=", "=", "<>")


@dataclass(frozen=True, slots=True)
class Names:
    """What may qualify a column: variables, those under NOT, and types all of whose variables are outside NOT."""

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
    """Between neighbours of one variable; mostly of one that can have neighbours."""
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
    """Over two variables or with an aggregate of one; at most one repeating variable is named plainly."""
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
    parts = []
    if knobs.same and _one_in(5, draw):
        parts.append(
            draw(st.sampled_from(["SAME[k]", "SAME[k]", "[k]", "SAME[k, g]", "SAME[y]" if knobs.reals else "[k]"]))
        )
    if _one_in(4, draw):
        parts.append(_local(draw, names))
    if knobs.adjacent and _one_in(3, draw):
        parts.extend(_adjacent(draw, names, knobs) for _ in range(draw(st.sampled_from([1, 1, 2]))))
    if several and _one_in(3, draw):
        parts.append(_several(draw, names))
    return parts


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
    """The text of a query over COLUMNS, whole: TYPE and TIME included."""
    returns_matches = knobs.matches and (not knobs.aggregates or draw(st.booleans()))
    both = knobs.conjunction and not returns_matches and _one_in(10, draw)
    drawer = PatternDrawer(draw, negation=knobs.negation and not both and _one_in(3, draw))
    parts = [drawer.pattern(knobs.depth if not both else 2, whole=True) for _ in range(2 if both else 1)]
    pattern = " AND ".join(part.text for part in parts)
    names = names_of(pattern)
    types = _TYPES if knobs.defined_types and _one_in(8, draw) else ("TYPE kind",)
    lines = [f"{draw(st.sampled_from(types))} TIME ts", f"PATTERN {pattern}", draw(st.sampled_from(knobs.selections))]
    several = knobs.several_variables and not both and (returns_matches or _one_in(6, draw))
    conditions = _conditions(draw, names, knobs, several=several)
    if conditions:
        lines.append("WHERE " + " AND ".join(conditions))
    group = draw(st.sampled_from(["", "", "", "g", "g", "g, k"])) if knobs.groups else ""
    if group:
        lines.append(f"GROUP BY {group}")
    within = _within(draw, knobs, needed=parts[-1].ends_with_not)
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
        return [*items, "COUNT(*)"]
    count = draw(st.integers(1, 4))
    return [*items, *(f"{_aggregate(draw, names, knobs)} AS m{number}" for number in range(count))]


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
    pattern = drawer.pattern(draw(st.sampled_from([1, 1, 2])), whole=True)
    names = names_of(pattern.text)
    lines = ["TYPE kind TIME ts", f"PATTERN {pattern.text}"]
    if _one_in(5, draw):
        condition = _adjacent(draw, names, Knobs(decimals=False)) if draw(st.booleans()) else _local(draw, names)
        lines.append(f"WHERE {condition}")
    if group:
        lines.append(f"GROUP BY {group}")
    within = draw(st.sampled_from(_WINDOWS[:4] if pattern.ends_with_not and not any(windows) else windows))
    asked = [draw(st.sampled_from(some)).format(name) for name in names.present for some in (_SUMS, _OTHERS)]
    items = [f"{aggregate} AS m{i}" for i, aggregate in enumerate(asked)]
    return "\n".join([*lines, *([within] if within else []), f"RETURN {', '.join([*items, 'COUNT(*) AS n'])}"])


@st.composite
def event_examples(draw: Draw, knobs: Knobs = EVERYTHING, most_rows: int = 9, *, ties: bool = True) -> Example:
    """A query and a table in which the types of its pattern are frequent: most such queries find something."""
    text = draw(event_queries(knobs))
    [pattern] = re.findall("PATTERN (.*)", text)
    kinds = "".join(re.findall(r"\b[A-D]\b", pattern)) + ("E" if _one_in(3, draw) else "")
    return Example(text, draw(event_tables(most_rows, ties=ties, special=knobs.reals, kinds=kinds)))
