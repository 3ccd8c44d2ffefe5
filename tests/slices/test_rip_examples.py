"""The worked examples of the RIP paper, with one worker and with two over the smallest slices.

How often predicates are evaluated (Table 1's last column) is counted by the paper's own algorithm, in
tests/benchmarks/test_rip_variants.py.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from benchmarks.queries import Q

import ostinato as ost

HEAD_AND_SHOULDERS = Q["Q1"]
"""As in Section 2, with its `>=`."""
UP_TO_THE_HEAD = "A B* C D* E F* G"
"""The half of it that Example 5 and Table 1 run."""


def labelings(pattern: str, define: str, prices: list[float], max_length: int, **parallel: int) -> list[str]:
    """All matches: the first trade, and the variables of the rows."""
    clause = f"""
        ORDER BY trade_id
        MEASURES FIRST(trade_id) AS first, array_join(array_agg(CLASSIFIER()), ' ') AS labels
        ALL MATCHES PATTERN ({pattern}) MAXLENGTH {max_length} DEFINE {define}"""
    trades = pa.table({"trade_id": range(1, len(prices) + 1), "price": prices})
    matches = ost.match(clause, trades, **parallel).to_pylist()
    return [f"{row['first']}: {row['labels']}" for row in matches]


def conditions(pattern: str) -> str:
    """The conditions of Section 2 for the variables of a pattern."""
    return ", ".join(line for line in HEAD_AND_SHOULDERS.define.split(", ") if line[0] in pattern)


def labelings_of_all_slices(pattern: str, define: str, prices: list[float]) -> list[str]:
    """The labelings, which are the same without slices and in slices that own any number of rows."""
    longest = len(prices)
    unsliced = labelings(pattern, define, prices, longest, workers=1)
    for owned in range(1, len(prices) + 1):
        sliced = labelings(pattern, define, prices, longest, workers=2, slice_rows=longest - 1 + owned)
        assert sorted(sliced) == sorted(unsliced), f"slices that own {owned} rows"
    return sorted(unsliced)


def test_table_1() -> None:
    assert labelings_of_all_slices(UP_TO_THE_HEAD, conditions(UP_TO_THE_HEAD), [33.1, 34.0, 33.2, 35.0]) == [
        "1: A C E G"
    ]


def test_a_tie_has_two_labelings() -> None:
    prices = [1.0, 3.0, 2.0, 5.0, 5.0, 3.0, 4.0, 0.0]
    matches = labelings_of_all_slices(HEAD_AND_SHOULDERS.pattern, HEAD_AND_SHOULDERS.define, prices)
    assert matches == ["1: A C E F G I K M", "1: A C E G H I K M"]


def test_the_tie_with_the_conditions_of_the_appendix() -> None:
    prices = [1.0, 3.0, 2.0, 5.0, 5.0, 3.0, 4.0, 0.0]
    appendix = HEAD_AND_SHOULDERS.define.replace(">=", ">")
    assert labelings_of_all_slices(HEAD_AND_SHOULDERS.pattern, appendix, prices) == ["1: A C E G H I K M"]


@pytest.mark.parametrize("shift", range(9))
def test_the_tie_at_every_position_in_a_slice(shift: int) -> None:
    """Three copies follow falling prices. Slices own up to eight rows, so matches cross their edges."""
    falling = [100.0 - step for step in range(shift)]
    prices = [*falling, *[1.0, 3.0, 2.0, 5.0, 5.0, 3.0, 4.0, 0.0] * 3]
    define = HEAD_AND_SHOULDERS.define
    unsliced = labelings(HEAD_AND_SHOULDERS.pattern, define, prices, 8, workers=1)
    assert unsliced == [
        f"{shift + 8 * copy + 1}: {labels}" for copy in range(3) for labels in ("A C E F G I K M", "A C E G H I K M")
    ]
    for slice_rows in (8, 9, 15):
        assert labelings(HEAD_AND_SHOULDERS.pattern, define, prices, 8, workers=2, slice_rows=slice_rows) == unsliced
