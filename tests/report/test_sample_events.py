"""Seeded data: the same for everybody, with what the demo promises inside."""

import pyarrow.compute as pc
import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table
from ostinato.report.sample_events import SYMBOLS, make_payments, make_trades
from ostinato.report.stories import CARD_FRAUD, HEAD_AND_SHOULDERS, STORIES, V_SHAPES


def matches_of(story, table):
    return match_table(parse_clause(story.sql[story.sql.index("(") + 1 : story.sql.rindex(")")]), table)


def test_one_seed_one_result() -> None:
    assert make_trades(1_200, seed=3).equals(make_trades(1_200, seed=3))
    assert not make_trades(1_200, seed=3).equals(make_trades(1_200, seed=4))
    assert make_payments(800, seed=3) == make_payments(800, seed=3)
    assert make_payments(800, seed=3) != make_payments(800, seed=4)


def test_known_first_rows() -> None:
    """Pinned: screenshots, the README's picture and the tutorial show these numbers."""
    first = make_trades(6_000).slice(0, 2).to_pylist()
    assert [row["symbol"] for row in first] == ["ARIA", "ARIA"]
    assert [(row["ts"].isoformat(), row["price"]) for row in first] == [
        ("2025-01-06T09:30:15", 165.14),
        ("2025-01-06T09:31:40", 165.28),
    ]


@pytest.mark.parametrize("rows", [600, 1_001, 6_000])
def test_trades_are_sorted_and_complete(rows) -> None:
    trades = make_trades(rows)
    assert trades.num_rows == rows
    assert trades.equals(trades.sort_by([("symbol", "ascending"), ("ts", "ascending")]))
    assert set(trades["symbol"].to_pylist()) == set(SYMBOLS)
    assert pc.min(trades["price"]).as_py() > 0
    for symbol in SYMBOLS:  # the charts find rows by their time
        times = trades.filter(pc.equal(trades["symbol"], symbol))["ts"]
        assert len(pc.unique(times)) == len(times)


def test_payments_are_sorted() -> None:
    payments = make_payments(4_000).table
    assert payments.equals(payments.sort_by([("card", "ascending"), ("ts", "ascending")]))


def test_the_shapes_occur() -> None:
    trades = make_trades(30_000)
    assert matches_of(HEAD_AND_SHOULDERS, trades).num_rows >= 10
    assert matches_of(V_SHAPES, trades).num_rows >= 5


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_the_fraud_query_finds_exactly_what_was_hidden(seed) -> None:
    payments = make_payments(20_000, seed)
    found = matches_of(CARD_FRAUD, payments.table)
    pairs = set(zip(found["card"].to_pylist(), found["ended"].to_pylist(), strict=True))
    assert payments.planted <= pairs
    assert len(pairs) - len(payments.planted) <= 1  # a cheap morning before an expensive purchase may look the same


def test_every_story_says_what_its_labels_mean() -> None:
    for story in STORIES:
        labels = {label for phase in story.phases for label in phase.labels}
        assert labels >= set(story.marked)
