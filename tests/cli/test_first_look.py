"""What the demo shows before Spark has started: a match of the same query, drawn with letters."""

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.cli.first_look import first_look, letter_chart
from ostinato.local.local_clause import match_table
from ostinato.report.sample_events import make_trades
from ostinato.report.stories import HEAD_AND_SHOULDERS


def test_the_match_is_one_that_the_library_finds() -> None:
    trades = make_trades(12_000)
    look = first_look(HEAD_AND_SHOULDERS, trades, 100)
    assert look is not None
    matches = match_table(parse_clause(HEAD_AND_SHOULDERS.clause), trades.slice(0, 1_000)).to_pylist()
    spans = [f"{match['symbol']}, {match['began']:%d %B %Y, %H:%M} to {match['ended']:%H:%M}" for match in matches]
    drawn = next(match for match, span in zip(matches, spans, strict=True) if span in look)
    letters = sorted(char for line in look.splitlines()[2:] for char in line.partition("|")[2] if char != " ")
    assert letters == sorted(drawn["labels"].split(" "))


def test_no_match_nothing_to_see() -> None:
    assert first_look(HEAD_AND_SHOULDERS, make_trades(60), 100) is None


def test_a_chart_fits_and_stands_a_flat_line() -> None:
    assert max(map(len, letter_chart([float(i % 7) for i in range(500)], ["UP"] * 500, 80).splitlines())) <= 80
    assert letter_chart([2.0, 2.0], "AB", 80).splitlines()[-1].endswith("| AB")
