"""Random correlations, as text, and random small tables for them. No engine here.

Half of the clauses are simple, so that both sides often match and join. The others are as random as those of
`strategies`, but without the features that a side of a correlation doesn't support.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from tests.laws.strategies import COLUMNS, Draw, Names, conditions, patterns, values, variables_in

TABLE = {**COLUMNS, "n": pa.int64(), "u": COLUMNS["t"]}
"""Ordered by `n`, by `t`, or as intervals from `t` to `u`; `id` tells rows of one time apart."""

LIVE_MODES = ("INCREMENTAL MATCHES", "INCREMENTAL MATCHES", "", "AFTER MATCH SKIP PAST LAST ROW")
ARCHIVE_MODES = ("MAXIMAL MATCHES", "MAXIMAL MATCHES", "AFTER MATCH SKIP TO NEXT ROW")
_SIMPLE = ("A B", "A B", "A B C", "A", "A B+", "A B+", "A+", "A B+?", "A B+ C* D", "A B? C", "A (B C)*", "A* B", "B*?")
_ROW_CONDITIONS = (
    "x > PREV(x)",
    "x < PREV(x)",
    "x >= 1",
    "s = 'a'",
    "x IS NOT NULL",
    "s <> PREV(s)",
    "PREV(x, 2) <= x",
)
_RUN_CONDITIONS = ("x > FIRST(x)", "count(*) < 4", "sum(x) < 5", "x >= A.x", "LAST(x, 1) <> x", "max(x) > 2")
_PREDICATES = (
    "l.mx = a.mx",
    "l.ms = a.ms AND l.mx = a.mx",
    "l.mx > a.mx",
    "coalesce(l.mx, 0) <= coalesce(a.mx, 1)",
    "l.ms = a.ms OR a.size > 1",
    "a.mx + 1 = l.mx",
    "l.size = a.size",
)
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CorrelationExample:
    """A correlation of `live` with `archive`. If `archive` is None, `live` is also the archive."""

    text: str
    live: pa.Table
    archive: pa.Table | None

    @property
    def history(self) -> pa.Table:
        return self.live if self.archive is None else self.archive


@st.composite
def correlations(draw: Draw, *, most_rows: int = 16) -> CorrelationExample:
    """A correlation and its tables."""
    order = draw(st.sampled_from(["n, id", "n, id", "t, id", "t, u, id"]))
    keys = draw(st.sampled_from([(), (), ("k",), ("k",), ("g", "k")]))
    simple = draw(st.booleans())
    live, archive = (draw(_clauses(keys, order, of_live=of_live, simple=simple)) for of_live in (True, False))
    conjuncts = [f"l.{key} = a.{key}" for key in keys] + [f"RECENT(a, l, {draw(_distances(order))})"]
    if draw(st.integers(0, 2)) == 0:
        conjuncts.append(f"({draw(st.sampled_from(_PREDICATES))})")
    conjuncts = draw(st.permutations(conjuncts))
    sides = [f"stock MATCH_RECOGNIZE ({live}) AS l", f"{{}} MATCH_RECOGNIZE ({archive}) AS a"]
    if draw(st.booleans()):
        sides.reverse()
    joined = " JOIN ".join(sides) + " ON " if draw(st.booleans()) else ", ".join(sides) + " WHERE "
    is_own_archive = draw(st.booleans())
    text = f"SELECT * FROM {joined}{' AND '.join(conjuncts)}".replace("{}", "stock" if is_own_archive else "history")
    rows = most_rows if simple else most_rows // 2
    nested = draw(st.booleans())
    return CorrelationExample(
        text, draw(_tables(rows, nested)), None if is_own_archive else draw(_tables(rows, nested))
    )


@st.composite
def with_another_archive(draw: Draw) -> CorrelationExample:
    """One of a few correlations that match almost everywhere. So every row of the archive affects the results."""
    key, recency = draw(st.sampled_from([("", "9"), ("", "7 ROWS"), ("k", "9"), ("k", "7 ROWS")]))
    head = f"{'PARTITION BY k ' if key else ''}ORDER BY n, id MEASURES LAST(x) AS mx, LAST(id) AS z"
    live = f"{head} INCREMENTAL MATCHES PATTERN (A B) DEFINE B AS id >= 0"
    archive = f"{head}, count(*) AS size MAXIMAL MATCHES PATTERN (A B*) DEFINE B AS x >= PREV(x)"
    same_key = "l.k = a.k AND " if key else ""
    text = f"""SELECT * FROM stock MATCH_RECOGNIZE ({live}) AS l JOIN history MATCH_RECOGNIZE ({archive}) AS a
        ON {same_key}RECENT(a, l, {recency})"""
    return CorrelationExample(text, draw(_tables(10, False)), draw(_tables(10, False)))


def _distances(order: str) -> st.SearchStrategy[str]:
    in_rows = st.integers(1, 9).map(lambda count: f"{count} ROWS")
    if order.startswith("n"):
        return st.one_of(st.integers(1, 9).map(str), st.just("4.5"), in_rows)
    return st.one_of(st.integers(1, 9).map(lambda minutes: f"INTERVAL '{minutes}' MINUTE"), in_rows)


# --- clauses ----------------------------------------------------------------------------------------------------------


@st.composite
def _clauses(draw: Draw, keys: tuple[str, ...], order: str, *, of_live: bool, simple: bool) -> str:
    mode = draw(st.sampled_from(LIVE_MODES if of_live else ARCHIVE_MODES))
    numbered = of_live and not mode.endswith("MATCHES")
    pattern = draw(st.sampled_from(_SIMPLE)) if simple else draw(patterns("AB", 2))
    names = Names(variables_in(pattern), numbered=numbered)
    measures = ["LAST(x) AS mx", "LAST(s) AS ms", "count(*) AS size", "FIRST(id) AS f", "LAST(id) AS z"]
    if not simple:
        measured = Names(names.primary, in_measures=True, numbered=of_live)
        measures.append(f"{draw(values(draw(st.sampled_from(['whole', 'text', 'truth'])), measured))} AS m")
    lines = [f"PARTITION BY {', '.join(keys)}"] if keys else []
    lines += [f"ORDER BY {order}", f"MEASURES {', '.join(measures)}", mode, f"PATTERN ({pattern})"]
    if order.startswith("t") and draw(st.integers(0, 5)) == 0:
        lines.append(f"WITHIN INTERVAL '{draw(st.integers(0, 4))}' MINUTE")
    if draw(st.integers(0, 7)) == 0:
        lines.append(f"MAXLENGTH {draw(st.integers(1, 4))}")
    defined = [(name, _definition(draw, name, names, simple)) for name in names.primary]
    if any(condition for _, condition in defined):
        lines.append("DEFINE " + ", ".join(f"{name} AS {text}" for name, text in defined if text))
    text = "\n".join(line for line in lines if line)
    return text if of_live else _for_archive(text)


def _definition(draw: Draw, name: str, names: Names, simple: bool) -> str | None:
    choice = draw(st.integers(0, 9))
    if choice < (7 if simple and name == "A" else 3):
        return None
    if simple or choice < 6:
        runs = _RUN_CONDITIONS if "A" in names.primary else [text for text in _RUN_CONDITIONS if "A." not in text]
        return draw(st.sampled_from(_ROW_CONDITIONS if choice < 8 else runs))
    return draw(conditions(names))


def _for_archive(text: str) -> str:
    """Replaces the syntax that the archive side doesn't support."""
    return text.replace("NEXT(", "PREV(").replace("^", "()").replace("$", "()")


# --- tables -----------------------------------------------------------------------------------------------------------


@st.composite
def _tables(draw: Draw, most_rows: int, nested: bool) -> pa.Table:
    """The first few of many rows from a seed, in random arrival order. `nested`: some intervals contain others."""
    chance = random.Random(draw(st.integers(0, 2**20)))
    rows, time = [], 0
    for number in range(most_rows):
        time += chance.choice([0, 1, 1, 1, 1, 2])
        rows.append(_row(chance, number, time, [0, 0, 1, 3, 6] if nested else [0]))
    rows = rows[: draw(st.integers(most_rows // 2, most_rows))]
    chance.shuffle(rows)
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TABLE.items()})


def _row(chance: random.Random, number: int, time: int, lengths: list[int]) -> dict[str, Any]:
    timed = chance.random() > 0.06
    return {
        "k": chance.choice(["p", "p", "p", "p", "q", None]),
        "g": chance.choice([1, 1, 1, 2]),
        "id": number,
        "x": chance.choice([None, 0, 1, 2, 3, 3, 4]),
        "y": chance.choice([None, 0.5, 1.5, -2.0]),
        "d": None,
        "s": chance.choice(["a", "a", "b", None]),
        "f": chance.choice([True, False, None]),
        "n": time if timed else None,
        "t": _minute(time) if timed else None,
        "u": _minute(time + chance.choice(lengths)) if timed else None,
    }


def _minute(time: int) -> datetime:
    return _START + timedelta(minutes=time)
