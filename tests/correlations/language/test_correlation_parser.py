"""Finding and parsing correlations in a statement. %L and %A are a live and an archive clause."""

from __future__ import annotations

import pytest

from ostinato.clause.language.statement_spans import read_statement
from ostinato.correlations.language.correlation import Correlation, Region
from ostinato.correlations.language.correlation_parser import correlation_of, find_correlations, read_correlation
from ostinato.correlations.language.correlation_spans import CorrelationText
from ostinato.errors import QueryError
from ostinato.expressions.parsing import parse_expression

LIVE = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(p) AS low INCREMENTAL MATCHES PATTERN (A B+))"
ARCHIVE = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(p) AS top MAXIMAL MATCHES PATTERN (A B+))"
KEYED = ("(ORDER BY", "(PARTITION BY s, v ORDER BY")


def written(text: str) -> str:
    return text.replace("%KL", LIVE.replace(*KEYED)).replace("%KA", ARCHIVE.replace(*KEYED)).replace(
        "%L", LIVE
    ).replace("%A", ARCHIVE)  # fmt: skip


def correlations_in(text: str) -> tuple[CorrelationText, ...]:
    return find_correlations(read_statement(written(text)))


def pieces(text: str) -> dict[str, str | list[str]]:
    """The only correlation, as pieces of the text with shortened clauses."""
    statement = written(text)
    (spans,) = correlations_in(text)

    def short(start: int, end: int) -> str:
        return statement[start:end].replace(LIVE, "%L").replace(ARCHIVE, "%A")

    return {
        "pair": short(spans.pair.start, spans.pair.end),
        "on": "" if spans.on is None else short(spans.on.start, spans.on.end),
        "recent": short(spans.recent.start, spans.recent.end),
        "rest": [short(span.start, span.end) for span in spans.conjuncts],
        "stars": [str(span.start) for span in spans.stars],
    }


def parsed(text: str) -> Correlation:
    return read_correlation(written(text)).correlation


def refused(text: str) -> tuple[str, str]:
    """The error code, and the text that the caret points at."""
    with pytest.raises(QueryError) as caught:
        read_correlation(written(text))
    error = caught.value
    assert error.text == written(text) and error.span is not None and error.hint is not None, error
    return error.code, error.text[error.span.start : error.span.end]


# --- finding ----------------------------------------------------------------------------------------------------------


def test_the_pieces_of_a_join() -> None:
    assert pieces("SELECT * FROM x %L AS l JOIN y %A AS a ON l.low < a.top AND RECENT(a, l, 7) WHERE a.top > 1") == {
        "pair": "x %L AS l JOIN y %A AS a",
        "on": "ON l.low < a.top AND RECENT(a, l, 7)",
        "recent": "RECENT(a, l, 7)",
        "rest": ["l.low < a.top", "a.top > 1"],
        "stars": ["7"],
    }


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("SELECT 1 FROM x %L l, y %A a WHERE recent(a, l, 7)", "x %L l, y %A a"),
        ("SELECT 1 FROM y %A a, x %L l WHERE (l.low = 1 AND (RECENT(a, l, 7)))", "y %A a, x %L l"),
        ("SELECT 1 FROM x %L l INNER JOIN y %A a ON RECENT(a, l, 7) ORDER BY 1", "x %L l INNER JOIN y %A a"),
        ("SELECT 1 FROM x %L l CROSS JOIN y %A a WHERE RECENT(a, l, 7) LIMIT 3", "x %L l CROSS JOIN y %A a"),
        ("SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) LEFT JOIN z ON z.i = l.low", "x %L l JOIN y %A a"),
        ("SELECT 1 FROM z, x %L l JOIN y %A a ON RECENT(a, l, 7)", "x %L l JOIN y %A a"),
        ("WITH c AS (SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, 7)) SELECT * FROM c", "x %L l JOIN y %A a"),
        ("SELECT 1 UNION ALL SELECT 2 FROM x %L l JOIN y %A a ON RECENT(a, l, 7)", "x %L l JOIN y %A a"),
        ("FROM x %L l JOIN y %A a ON RECENT(a, l, 7) SELECT *", "x %L l JOIN y %A a"),
        ("SELECT 1 FROM x %L `my l` JOIN y %A A ON RECENT(a, `MY L`, 7)", "x %L `my l` JOIN y %A A"),
        ("SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) AND LEFT(l.low, 1) = '2'", "x %L l JOIN y %A a"),
        ("SELECT 1 FROM x %L l JOIN y %A a ON CASE WHEN TRUE AND FALSE THEN 1 END = 1 AND RECENT(a, l, 7)",
         "x %L l JOIN y %A a"),
        ("SELECT 1 FROM x %L l JOIN y %A a ON l.low BETWEEN 1 AND 2 AND RECENT(a, l, 7)", "x %L l JOIN y %A a"),
    ],
)  # fmt: skip
def test_the_pair_of_clauses(text: str, pair: str) -> None:
    texts = pieces(text)
    assert texts["pair"] == pair
    assert str(texts["on"]).startswith("ON ") == (" ON " in text.split(pair)[1][:4])


def test_recent_defines_the_live_and_the_archive_side() -> None:
    (spans,) = correlations_in("SELECT 1 FROM y %A a JOIN x %L l ON RECENT(a, l, 7)")
    assert (spans.live_alias, spans.archive_alias, spans.live_first) == ("l", "a", False)


def test_only_stars_of_its_own_select_list_are_bare() -> None:
    text = "SELECT *, l.*, count(*), 2 * 3, * FROM x %L l JOIN y %A a ON RECENT(a, l, 7) WHERE 1 * 2 = 2"
    assert pieces(text)["stars"] == [str(written(text).index(at) + shift) for at, shift in (("*,", 0), (" * FROM", 1))]


def test_several_correlations() -> None:
    one = "SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7)"
    assert len(correlations_in(f"{one} UNION ALL {one}")) == 2
    both = "SELECT 1 FROM x %L l, y %A a, x %L m, y %A b WHERE RECENT(b, m, 3) AND RECENT(a, l, 7)"
    assert len(correlations_in(both)) == 2


def test_no_correlation_without_recent_or_clauses() -> None:
    assert correlations_in("SELECT 1 FROM x %L l JOIN y %A a ON l.low = a.top") == ()
    assert correlations_in("SELECT recent(a, l, 7) FROM t") == ()  # a function of the user
    assert correlations_in("SELECT recent FROM x %L l") == ()


def test_recent_inside_the_input_of_a_clause_is_found_there() -> None:
    inner = "SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, 7)"
    outer = f"SELECT * FROM ({inner}) {LIVE}"
    assert correlations_in(outer) == ()
    (clause,) = read_statement(written(outer)).clauses
    assert len(find_correlations(read_statement(written(outer)[clause.input.start + 1 : clause.input.end - 1]))) == 1


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "region"),
    [
        ("INTERVAL '7' SECOND", Region("time", 7_000_000)),
        ("INTERVAL 2 HOURS", Region("time", 7_200_000_000)),
        ("INTERVAL '1 02:00:00' DAY TO SECOND", Region("time", 93_600_000_000)),
        ("7", Region("number", 7)),
        ("7L", Region("number", 7)),
        ("7.5", Region("number", 7.5)),
        ("500 ROWS", Region("rows", 500)),
        ("1 row", Region("rows", 1)),
    ],
)
def test_distances(distance: str, region: Region) -> None:
    assert parsed(f"SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, {distance})").region == region


@pytest.mark.parametrize(
    "distance",
    ["0", "-7", "INTERVAL '0' SECOND", "INTERVAL '-1' DAY", "INTERVAL '1' MONTH", "0 ROWS", "1.5 ROWS", "l.low",
     "'7'", "3 + 4", "1e30", "1e400", "9223372036854775807 ROWS", "INTERVAL '999999999' DAY"],
)  # fmt: skip
def test_invalid_distances_raise(distance: str) -> None:
    text = f"SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, {distance})"
    assert refused(text) == ("RECENT_DISTANCE", distance)


@pytest.mark.parametrize("distance", [":p", "?", "INTERVAL :p SECOND", ":p ROWS"])
def test_a_distance_may_not_be_a_parameter(distance: str) -> None:
    with pytest.raises(QueryError, match="RECENT_DISTANCE") as caught:
        parsed(f"SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, {distance})")
    assert "parameters aren't filled in here" in str(caught.value.hint)


def test_keys_are_paired_and_the_rest_is_the_condition() -> None:
    both = "l.low > a.top AND a.v = l.v AND l.s = a.s"
    correlation = parsed(f"SELECT * FROM x %KL l JOIN y %KA a ON {both} WHERE RECENT(a, l, 7) AND l.s = a.v")
    assert correlation.keys == (("s", "s"), ("v", "v"))
    assert correlation.condition == parse_expression("l.low > a.top AND l.s = a.v")


def test_all_forms_give_the_same_correlation() -> None:
    join = parsed("SELECT * FROM x %L l JOIN y %A a ON l.low = a.top AND RECENT(a, l, 7)")
    comma = parsed("SELECT * FROM x %L l, y %A a WHERE RECENT(a, l, 7) AND l.low = a.top;")
    assert join == comma
    assert parsed("SELECT * FROM y %A a, x %L l WHERE RECENT(a, l, 7) AND l.low = a.top").live_first_in_from is False


def test_select_items_and_tables() -> None:
    query = read_correlation(
        written("SELECT correlation_start, l.low - 1 AS less, a.* FROM x AS t %L l JOIN `y y` %A a ON RECENT(a, l, 7)")
    )
    assert [item.name for item in query.items] == ["correlation_start", "less", "a"]
    assert (query.live_input, query.archive_input) == ("x", "y y")


def test_spark_gets_only_the_conditions_that_are_understood() -> None:
    text = written("""SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) AND l.low = a.top AND low > 1
        AND EXISTS (SELECT 1 FROM z) AND z.i = l.low JOIN z ON true""")
    (spans,) = find_correlations(read_statement(text))
    assert correlation_of(text, spans).condition == parse_expression("l.low = a.top")
    with pytest.raises(QueryError, match="EXISTS"):
        correlation_of(text, spans, whole_condition=True)


# --- refusals ---------------------------------------------------------------------------------------------------------

PAIR = "SELECT 1 FROM x %L l JOIN y %A a"


@pytest.mark.parametrize(
    ("text", "pointed_at"),
    [
        (f"{PAIR} ON RECENT(a, l, 7) OR l.low = 1", "RECENT(a, l, 7)"),
        (f"{PAIR} ON NOT RECENT(a, l, 7)", "RECENT(a, l, 7)"),
        (f"{PAIR} ON l.low = 1 HAVING RECENT(a, l, 7)", "RECENT(a, l, 7)"),
        ("SELECT RECENT(a, l, 7) FROM x %L l JOIN y %A a ON true", "RECENT(a, l, 7)"),
        (f"{PAIR} ON RECENT(a, l, 7) WHERE RECENT(a, l, 8)", "RECENT(a, l, 8)"),
        (f"{PAIR} ON RECENT(a, k, 7)", "k"),
        ("SELECT 1 FROM x %L JOIN y %A a ON RECENT(a, l, 7)", "l"),
        (f"{PAIR} ON RECENT(a, a, 7)", "RECENT(a, a, 7)"),
        (f"{PAIR} ON RECENT(a, l)", "RECENT(a, l)"),
        (f"{PAIR} ON RECENT(a.top, l, 7)", "RECENT(a.top, l, 7)"),
        ("SELECT 1 FROM x %L l WHERE RECENT(a, l, 7)", "RECENT(a, l, 7)"),
        ("SELECT 1 FROM x %L l LEFT JOIN y %A a ON RECENT(a, l, 7)", "LEFT JOIN"),
        ("SELECT 1 FROM x %L l FULL OUTER JOIN y %A a ON RECENT(a, l, 7)", "FULL OUTER JOIN"),
        ("SELECT 1 FROM x %L l, z, y %A a WHERE RECENT(a, l, 7)", ", z,"),
        ("SELECT 1 FROM z JOIN x %L l JOIN y %A a ON RECENT(a, l, 7)", "JOIN"),
        (f"{PAIR} USING (s) WHERE RECENT(a, l, 7)", "USING"),
        (f"{PAIR} ON RECENT(a, l, 7) RIGHT JOIN z ON true", "RIGHT"),
        (f"SELECT 1 FROM x {LIVE} m JOIN (x %L l JOIN y %A a ON RECENT(a, l, 7)) ON true", "RECENT(a, l, 7)"),
    ],
)
def test_misplaced_recent_raises(text: str, pointed_at: str) -> None:
    assert refused(text) == ("RECENT_MISPLACED", pointed_at)


def test_keys_must_be_equated() -> None:
    assert refused("SELECT 1 FROM x %KL l JOIN y %KA a ON l.s = a.s AND RECENT(a, l, 7)") == ("CORRELATION_KEYS", "v")
    assert refused("SELECT 1 FROM x %KL l JOIN y %A a ON RECENT(a, l, 7)") == ("CORRELATION_KEYS", "s")
    assert refused("SELECT 1 FROM x %L l JOIN y %KA a ON RECENT(a, l, 7)") == ("CORRELATION_KEYS", "s")
    twice = "SELECT 1 FROM x %KL l JOIN y %KA a ON l.s = a.s AND l.s = a.v AND l.v < a.v AND RECENT(a, l, 7)"
    assert refused(twice) == ("CORRELATION_KEYS", "v")


def changed(side: str, *change: str) -> str:
    """The pair of clauses with a replacement in one of them."""
    live, archive = (LIVE.replace(*change), ARCHIVE) if side == "live" else (LIVE, ARCHIVE.replace(*change))
    return f"SELECT 1 FROM x {live} l JOIN y {archive} a ON RECENT(a, l, 7)"


@pytest.mark.parametrize("side", ["live", "archive"])
def test_the_order_is_checked(side: str) -> None:
    assert refused(changed(side, "ORDER BY t", "")) == ("CORRELATION_ORDER", "RECENT(a, l, 7)")
    assert refused(changed(side, "BY t", "BY t DESC")) == ("CORRELATION_ORDER", "t")
    assert refused(changed(side, "BY t", "BY t NULLS LAST")) == ("CORRELATION_ORDER", "t")
    assert parsed(changed(side, "BY t", "BY t, u DESC")).region.size == 7


def test_the_match_modes_are_checked() -> None:
    for mode in ("ALL MATCHES", "MAXIMAL MATCHES"):
        assert refused(changed("live", "INCREMENTAL MATCHES", mode)) == ("CORRELATION_MODE", mode)
    skip = "AFTER MATCH SKIP TO NEXT ROW"
    assert refused(changed("live", "INCREMENTAL MATCHES", skip)) == ("CORRELATION_MODE", "AFTER")
    for mode in ("ALL MATCHES", "INCREMENTAL MATCHES"):
        assert refused(changed("archive", "MAXIMAL MATCHES", mode)) == ("CORRELATION_MODE", mode)
    past = "AFTER MATCH SKIP PAST LAST ROW"
    assert refused(changed("archive", "MAXIMAL MATCHES", past)) == ("CORRELATION_MODE", "AFTER")
    assert refused(changed("archive", "MAXIMAL MATCHES", "")) == ("CORRELATION_MODE", "PATTERN")
    assert parsed(changed("live", "INCREMENTAL MATCHES", "")) == parsed(changed("live", "INCREMENTAL MATCHES", past))
    assert parsed(changed("archive", "MAXIMAL MATCHES", skip)).archive.skip.span is not None


def test_features_that_neither_side_supports_raise() -> None:
    for side in ("live", "archive"):
        shown = changed(side, "AS low", "AS low ALL ROWS PER MATCH").replace("AS top", "AS top ALL ROWS PER MATCH")
        assert refused(shown) == ("CORRELATION_NOT_SUPPORTED", "ALL ROWS PER MATCH")
    timeouts = "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) WITHIN INTERVAL '1' DAY"
    shown = changed("live", "INCREMENTAL MATCHES PATTERN (A B+)", f"ONE ROW PER MATCH SHOW TIMEOUT MATCHES {timeouts}")
    assert refused(shown) == ("CORRELATION_NOT_SUPPORTED", "SHOW TIMEOUT MATCHES")


def test_features_that_the_archive_side_lacks_raise() -> None:
    for change, pointed_at in (
        (("(A B+)", "(A B+ $)"), "$"),
        (("(A B+)", "(^ A B+)"), "^"),
        (("LAST(p)", "NEXT(p)"), "NEXT(p)"),
        (("LAST(p)", "MATCH_NUMBER()"), "MATCH_NUMBER()"),
        (("(A B+)", "(A B+) DEFINE B AS NEXT(p) > 1"), "NEXT(p)"),
    ):
        assert refused(changed("archive", *change)) == ("CORRELATION_NOT_SUPPORTED", pointed_at)
        assert parsed(changed("live", *change)).region.size == 7


def test_columns_keep_their_names() -> None:
    assert refused("SELECT 1 FROM x %L l (b) JOIN y %A a ON RECENT(a, l, 7)")[0] == "CORRELATION_NOT_SUPPORTED"
    assert refused("SELECT 1 FROM x %L l JOIN y %A a (b) ON RECENT(a, l, 7)")[0] == "CORRELATION_NOT_SUPPORTED"


def test_a_star_with_other_tables_raises() -> None:
    text = "SELECT * FROM x %L l JOIN y %A a ON RECENT(a, l, 7), z"
    assert refused(text) == ("CORRELATION_NOT_SUPPORTED", "*")


def test_errors_of_a_clause_point_into_the_statement() -> None:
    with pytest.raises(QueryError) as caught:
        parsed(changed("archive", "(A B+)", "(A B+{3,1})"))
    assert caught.value.text is not None and caught.value.text.startswith("SELECT 1")


def test_a_statement_without_recent_raises_in_process() -> None:
    with pytest.raises(QueryError, match="RECENT_MISPLACED") as caught:
        read_correlation(written("SELECT 1 FROM x %L l JOIN y %A a ON l.low = a.top"))
    assert "RECENT(archive, live" in str(caught.value.hint)


def test_swapped_sides_of_recent_raise() -> None:
    with pytest.raises(QueryError, match="CORRELATION_MODE") as caught:
        parsed(f"{PAIR} ON RECENT(l, a, 7)")
    assert "RECENT names the archive side first" in str(caught.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT l.low FROM x %L l JOIN y %A a ON RECENT(a, l, 7)",
        "SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) ORDER BY 1",
        "SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) WHERE l.low = 1 GROUP BY 1",
        "SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7) JOIN z ON true",
        "SELECT 1 FROM z, x %L l JOIN y %A a ON RECENT(a, l, 7)",
        "SELECT 1 FROM (SELECT 1) %L l JOIN y %A a ON RECENT(a, l, 7)",
        "WITH c AS (SELECT 1) SELECT 1 FROM x %L l JOIN y %A a ON RECENT(a, l, 7)",
        "SELECT 1 FROM x %L l",
    ],
)
def test_in_process_a_statement_has_nothing_but_the_correlation(text: str) -> None:
    with pytest.raises(QueryError, match="UNSUPPORTED_IN_PROCESS"):
        read_correlation(written(text))
