"""An event query that is translated to SQL has the matches of the oracle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.examples import examples
from tests.laws.declined import Declined
from tests.laws.event_strategies import MATCHES_ONLY, bind, event_queries, event_tables

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_to_sql import event_query_to_sql
from ostinato.reference.trend_oracle import trend_matches

SELECTIONS = ("", "", "", "STRICT", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
TRANSLATABLE = replace(
    MATCHES_ONLY, negation=False, windows=False, several_variables=False, selections=SELECTIONS, depth=2
)


DECLINED = Declined({"CANNOT_BE_SAID_IN_SQL": "the clause has no such construct"})


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def check(text: str, table: pa.Table) -> None:
    bound = bind(text)
    with DECLINED.example():
        statement = event_query_to_sql(bound, "events")
    [clause] = re.findall(r"MATCH_RECOGNIZE \((.*)\n\)", statement, re.DOTALL)
    rows = ost.match(clause, table).to_pylist()
    events_of_match: dict[tuple[object, ...], list[tuple[int, str]]] = {}
    keys = dict.fromkeys((*bound.group_by, *bound.same))
    for row in rows:
        if row["variable"] != "SKIPPED":
            # NaN isn't equal to itself, but it is one key.
            key_values = ("NaN" if row[key] != row[key] else row[key] for key in keys)
            match = (*key_values, row["match_number"])
            events_of_match.setdefault(match, []).append((row["id"], row["variable"]))
    ids = table.column("id").to_pylist()
    with DECLINED.oracle():
        matches = trend_matches(bound, table.to_pylist())
    DECLINED.answered(rows=bool(matches))
    expected = (tuple((ids[row], name) for row, name in match.pairs) for match in matches)
    assert Counter(map(tuple, events_of_match.values())) == Counter(expected)


@given(event_queries(TRANSLATABLE), event_tables(6))
def test_matches(text: str, table: pa.Table) -> None:
    # With ties, STRICT differs: SQL also orders rows of the same time.
    if "STRICT" not in text or len(set(table["ts"].to_pylist())) == table.num_rows:
        check(text, table)


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(event_queries(replace(TRANSLATABLE, depth=3)), event_tables(7, ties=False))
def test_matches_deeply(text: str, table: pa.Table) -> None:
    check(text, table)


def test_untranslatable_queries_raise() -> None:
    reasons = {
        "PATTERN SEQ(A, B) SKIP TILL NEXT MATCH": "SKIP TILL NEXT MATCH",
        "PATTERN SEQ(A, NOT C, B)": "NOT",
        "PATTERN SEQ(A, B+ WITHOUT C)": "NOT",
        "PATTERN SEQ(A, B) STRICT ON (A, B)": "NOT",
        "PATTERN SEQ(A, B) WITHIN 2 SECONDS TUMBLE": "windows",
    }
    with pytest.raises(QueryError, match="rounded differently"):
        event_query_to_sql(bind("TYPE kind TIME ts PATTERN A RETURN SUM(A.x) / COUNT(*)"), "events")
    for text, reason in reasons.items():
        with pytest.raises(QueryError, match=reason) as raised:
            event_query_to_sql(bind(f"TYPE kind TIME ts {text} RETURN COUNT(*)"), "events")
        assert raised.value.code == "CANNOT_BE_SAID_IN_SQL"
