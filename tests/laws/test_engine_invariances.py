"""The engine's answer doesn't depend on the arrival order, on other keys, on chunks, or on compilation of kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.comparison import difference, rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import clauses, table_of, tables

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import MatchError
from ostinato.kernels.kernel_cache import interpreted
from ostinato.local.local_clause import match_table

DECLINED = Declined(CLAUSES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def answer(text: str, table: pa.Table) -> Counter[str] | None:
    """The rows as a multiset of texts; None if the engine fails on the data."""
    rows = None
    with DECLINED.example(), suppress(MatchError):
        rows = Counter(map(repr, rows_of(match_table(parse_clause(text), table))))
    DECLINED.answered(rows=bool(rows))
    return rows


def _with_ties(order_by: str) -> str:
    """ORDER BY without the column that makes it unique."""
    return re.sub(r", id\b( DESC)?", "", order_by).replace("ORDER BY id", "ORDER BY s")


@given(clauses(), tables(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(text: str, table: pa.Table, chance: Any) -> None:
    assume("ORDER BY" in text)
    tied = re.sub(r"(?m)^ORDER BY .*$", lambda line: _with_ties(line[0]), text)  # a second clause, in which rows tie
    row_order = list(range(table.num_rows))
    chance.shuffle(row_order)
    for clause in (text, tied):
        assert answer(clause, table) == answer(clause, table.take(pa.array(row_order, pa.int64())))


@given(clauses(), tables(), tables())
def test_other_keys_do_not_matter(text: str, table: pa.Table, more: pa.Table) -> None:
    """Adding rows with a new key doesn't change the matches of other keys."""
    assume("PARTITION BY" in text and "ORDER BY" in text)
    others = more.set_column(0, "k", pa.array(["z"] * more.num_rows, pa.string()))
    first_answer, other_answer = answer(text, table), answer(text, others)
    together = answer(text, pa.concat_tables([others, table]))
    if first_answer is None or other_answer is None:
        assert together is None
    else:
        assert together == first_answer + other_answer


@given(clauses(), tables())
def test_chunks_do_not_matter(text: str, table: pa.Table) -> None:
    rows = [table.slice(row, 1) for row in range(table.num_rows)]
    assert answer(text, table) == answer(text, pa.concat_tables([table.slice(0, 0), *rows]))


# --- compiled or not --------------------------------------------------------------------------------------------------

ROWS = table_of(
    [
        {"k": "pq"[n % 2], "g": 1, "id": n, "x": x, "y": y, "d": None, "s": s, "f": n % 3 == 0, "t": None}
        for n, (x, y, s) in enumerate(
            zip(
                [1, 2, None, 4, 0, 3, 2, 2, 1, 0],
                [1.5, float("nan"), None, 0.0, -2.0, 1.0, 1.0, 3.5, None, 2.0],
                "aabcaabbca",
                strict=True,
            )
        )
    ]
)

SMALL_CASES = (
    "PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN ((A | B)* C) "
    "DEFINE A AS s = 'a', B AS s = 'b', C AS s = 'c'",
    "ORDER BY id MEASURES LAST(B.x, 1) AS m, FIRST(A.y) AS first_y ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW "
    "PATTERN (A B+?) DEFINE A AS x > 0, B AS x >= PREV(x)",
    "PARTITION BY k ORDER BY id MEASURES sum(A.x) AS total, avg(y) AS mean, min(A.s) AS least, "
    "count(DISTINCT s) AS kinds, array_agg(x) AS xs, stddev_pop(x) AS spread, CLASSIFIER() AS label ALL ROWS PER MATCH "
    "PATTERN (A (A | B)*) DEFINE A AS sum(x) < 9, B AS count(A.*) > 1 AND x < avg(A.x)",
    "ORDER BY id MEASURES MATCH_NUMBER() AS n, count(*) AS c ALL MATCHES PATTERN (A B* C?) MAXLENGTH 4 "
    "DEFINE B AS x >= FIRST(A.x), C AS PREV(CLASSIFIER()) = 'B'",
    "ORDER BY id MEASURES MATCH_NUMBER() AS n INCREMENTAL MATCHES PATTERN (A+ B) DEFINE A AS x > 0, B AS s = 'b'",
    "ORDER BY id MEASURES max(y) AS m MAXIMAL MATCHES PATTERN (A+ B+) DEFINE A AS x > 0, B AS y <= min(y)",
)


def uncompile(patch: pytest.MonkeyPatch) -> set[str]:
    """Replaces kernels by their Python functions, also the kernels that they call. Returns the names of all kernels."""
    import sys

    kernel_names = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith("ostinato.") or name == "ostinato.kernels.kernel_cache":
            continue
        for attribute, value in list(vars(module).items()):
            plain = interpreted(value) if callable(value) else value
            if plain is not value and hasattr(value, "signatures"):
                patch.setattr(module, attribute, plain)
                kernel_names.add(attribute)
                for called, kernel in list(getattr(plain, "__globals__", {}).items()):
                    if hasattr(kernel, "signatures") and hasattr(kernel, "py_func"):
                        patch.setitem(plain.__globals__, called, kernel.py_func)
    return kernel_names


@pytest.mark.kernel
@pytest.mark.parametrize("text", SMALL_CASES)
def test_kernels_agree_with_their_python(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rows_of(match_table(parse_clause(text), ROWS))
    assert compiled
    with monkeypatch.context() as patch, np.errstate(over="ignore"):  # hashes wrap around
        kernel_names = uncompile(patch)
        uncompiled = rows_of(match_table(parse_clause(text), ROWS))
    assert {"search_plain", "search_interpreted", "_walk_back", "_walk", "_count"} <= kernel_names
    assert [repr(row) for row in uncompiled] == [repr(row) for row in compiled]
    assert difference(text, ROWS, DECLINED) is None


@pytest.mark.kernel
@pytest.mark.slow
@settings(max_examples=examples(60))
@given(clauses(), tables(most_rows=5) | st.just(ROWS))  # few clauses match anything in five rows
def test_kernels_agree_with_their_python_on_random_clauses(text: str, table: pa.Table) -> None:
    compiled = answer(text, table)
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        uncompile(patch)
        assert answer(text, table) == compiled
