"""Random windows with a row pattern, over the tables of `strategies.py`. No engine here."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.strategies import (
    ORDERS,
    Draw,
    Names,
    definitions,
    measure_list,
    patterns,
    skip_rule,
    union_variables,
    variables_in,
)

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.window_pattern import WindowPattern

_TIES = ("x", "s DESC", "g, y")
_FUNCTIONS = (
    "count(*)",
    "count(x)",
    "count(*) FILTER (WHERE x > 1)",
    "sum(x)",
    "max(y)",
    "median(x)",
    "array_agg(s)",
    "array_agg(x ORDER BY id DESC)",
    "FIRST(id)",
    "LAST(x)",
    "FIRST(x, 2)",
)
_SKIPS = ("AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO NEXT ROW", "")
_AROUND = ("PREV(id)", "NEXT(id)", "PREV(FIRST(id))", "NEXT(LAST(id), 2)", "PREV(id, 2)", "PREV(CLASSIFIER())")
_CONDITIONS = (
    "PREV(id) IS NULL",
    "PREV(id, 2) IS NULL",
    "NEXT(id) IS NULL",
    "NEXT(id, 2) IS NOT NULL",
    "PREV(FIRST(id)) IS NULL",
    "NEXT(FIRST(id), 2) IS NULL OR x > 1",
    "PREV(LAST(id, 1)) IS NULL",
    "PREV(LAST(A.id)) IS NULL",
    "PREV(CLASSIFIER()) IS NULL OR x IS NOT NULL",
    "x >= PREV(x)",
    "count(*) < 3",
)
"""Conditions that often show a mistake at the edge of a frame."""


@st.composite
def windows(draw: Draw) -> WindowPattern:
    """A window over COLUMNS, with measures and functions over the matched rows."""
    pattern = draw(patterns("AB", 2).filter(_has_variable_and_no_anchor))
    primary = variables_in(pattern)
    subsets = union_variables(draw, primary)
    names = Names(primary, subsets, numbered=False)
    lines = [draw(st.sampled_from(["", "", "", "PARTITION BY k"]))]
    lines.append(f"ORDER BY {draw(st.sampled_from((*ORDERS, *_TIES)))}")
    functions = draw(st.lists(st.sampled_from(_FUNCTIONS), min_size=1, max_size=2))
    listed = ["TRUE AS matched", f"{draw(st.sampled_from(_AROUND))} AS around"]
    listed += measure_list(draw, Names(primary, subsets, in_measures=True, numbered=False))
    lines.append("MEASURES " + ", ".join([*listed, *(f"{text} AS f{i}" for i, text in enumerate(functions))]))
    lines.append(draw(st.sampled_from(_SKIPS)) or skip_rule(draw, names))
    lines.append(f"PATTERN ({pattern})")
    if subsets:
        lines.append("SUBSET " + ", ".join(f"{name} = ({', '.join(members)})" for name, members in subsets))
    conditions = {name: draw(_conditions(name, names)) for name in primary}
    conditions[primary[0]] = conditions[primary[0]] or "TRUE"  # DEFINE isn't optional
    lines.append("DEFINE " + ", ".join(f"{name} AS {text}" for name, text in conditions.items() if text is not None))
    clause = parse_clause("\n".join(line for line in lines if line))
    frame_end = draw(st.sampled_from([None, 2, 1, 3, None, 0]))
    return WindowPattern(clause, frame_end, draw(st.booleans()), frozenset(f"f{i}" for i in range(len(functions))))


def _has_variable_and_no_anchor(pattern: str) -> bool:
    return not {"^", "$"} & set(pattern) and bool(variables_in(pattern))


@st.composite
def _conditions(draw: Draw, name: str, names: Names) -> str | None:
    if draw(st.booleans()):
        at_edge = draw(st.sampled_from(_CONDITIONS))
        return at_edge if "A." not in at_edge or "A" in names.primary else None
    return draw(definitions(name, names))
