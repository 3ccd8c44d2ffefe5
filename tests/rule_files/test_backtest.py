"""Rules over an archive: hits by day, suppressed matches, failures, and the difference between two versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.rule_files.folders import LOGIN_PAY, SETTINGS, checked

from ostinato.rule_files.backtest import RuleHits, archive_table, backtest, differences
from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.rule_folder import read_folder

START = datetime(2024, 3, 1, 22, tzinfo=UTC)


def archive(letters: str, user: str = "ann", *, minutes: int = 30) -> pa.Table:
    """A row for each letter, one after another: l is a login, p a payment."""
    kinds = {"l": "login", "p": "pay"}
    return pa.table(
        {
            "user": [user] * len(letters),
            "ts": pa.array(
                [START + timedelta(minutes=minutes * n) for n in range(len(letters))], pa.timestamp("us", "UTC")
            ),
            "kind": [kinds.get(letter, letter) for letter in letters],
            "amount": [float(n) for n in range(len(letters))],
            "n": pa.array(range(len(letters)), pa.int8()),
        }
    )


def hits(folder: Path, rows: pa.Table, **files: str) -> list[RuleHits]:
    checked(folder, **files)
    read = read_folder(folder)
    schema, settings = read.settings.schema, read.settings.settings
    table = archive_table(rows, None if schema is None else schema.names, settings)
    found = check_folder(read, table.schema)
    assert not found.has_errors, [str(problem) for problem in found.problems]
    ticks = iter(range(1000))
    return backtest(found.rules, table, clock=lambda: float(next(ticks)))


def ends(found: RuleHits) -> list[str]:
    assert found.shown is not None
    return [f"{end:%d %H:%M}" for end in found.shown["ended"].to_pylist()]


EVENTS = "TYPE kind PATTERN SEQ(login l, pay p) WITHIN 1 HOUR RETURN MATCHES"
FUNNEL = "query: {steps: [login, pay], type: kind, within: 1 hour}"
EMPTY = "MEASURES count(*) AS n PATTERN (A*) WITHIN 1 HOUR DEFINE A AS kind = 'login'"


def test_hits_of_all_kinds(tmp_path: Path) -> None:
    found = hits(tmp_path, archive("lpxlp"), a_sql=LOGIN_PAY, b_sql=EVENTS, c_yaml=FUNNEL)
    assert [ends(one) for one in found] == [["01 22:30", "02 00:00"]] * 3
    assert [one.by_day() for one in found] == [{date(2024, 3, 1): 2}] * 3
    assert [one.seconds for one in found] == [1.0] * 3
    assert found[0].matches is not None
    assert found[0].matches.column_names == ["match_id", "user", "began", "ended", "suppressed"]


def test_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    settings = SETTINGS + "timezone: Europe/Berlin\n"
    (found,) = hits(tmp_path, archive("lplp"), rules_yaml=settings, a_sql=LOGIN_PAY)
    assert found.by_day() == {date(2024, 3, 1): 1, date(2024, 3, 2): 1}


def test_all_rows_of_a_match_are_one_hit(tmp_path: Path) -> None:
    text = LOGIN_PAY.replace("PATTERN", "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN").replace("sum(", "max(")
    (found,) = hits(tmp_path, archive("xlpx"), a_sql=text.replace("amount) AS total", "amount) AS most"))
    assert ends(found) == ["01 23:00"]


def test_suppressed_matches(tmp_path: Path) -> None:
    text = f"---\nsuppress: 70 minutes by USER\n---\n{LOGIN_PAY}"
    (found,) = hits(tmp_path, archive("lplplplp"), a_sql=text)
    assert ends(found) == ["01 22:30", "02 00:30"]
    assert found.matches is not None and found.matches.num_rows == 4


def test_a_hit_of_a_funnel_takes_all_steps(tmp_path: Path) -> None:
    quiet = f"suppress: 2 hours by user\n{FUNNEL}"
    all_hits, shown = hits(tmp_path, archive("lxxlpxxlplp"), a_yaml=FUNNEL, b_yaml=quiet)
    assert ends(all_hits) == ["02 00:00", "02 02:00", "02 03:00"]
    assert ends(shown) == ["02 00:00", "02 02:00"]


def test_rows_without_a_time_are_left_out(tmp_path: Path) -> None:
    rows = archive("lpp")
    times = rows["ts"].to_pylist()
    rows = rows.set_column(1, "ts", pa.array([times[0], None, times[2]], rows["ts"].type))
    (found,) = hits(tmp_path, rows, a_sql=LOGIN_PAY)
    assert ends(found) == ["01 23:00"]


def test_empty_matches_have_no_day(tmp_path: Path) -> None:
    found = hits(tmp_path, archive("lpx"), a_sql=EMPTY)
    assert [list(one.by_day().items()) for one in found] == [[(date(2024, 3, 1), 1), (None, 2)]]


def test_one_failure_stops_no_other_rule(tmp_path: Path) -> None:
    broken = LOGIN_PAY.replace("kind = 'login'", "1 / (n - 1) > 5")
    counting = EVENTS.replace("RETURN MATCHES", "RETURN COUNT(*)")
    first, second, third = hits(tmp_path, archive("lp"), a_sql=broken, b_sql=counting, c_sql=LOGIN_PAY)
    assert first.error is not None and first.error.code == "DIVIDE_BY_ZERO" and first.by_day() == {}
    assert second.error is not None and second.error.code == "UNSUPPORTED_IN_BACKTEST"
    assert ends(third) == ["01 22:30"]


@pytest.mark.parametrize("query", [LOGIN_PAY, EVENTS])
def test_differences(tmp_path: Path, query: str) -> None:
    rows = archive("lpxlpxlp")
    wide, late, early = (tmp_path / name for name in ("wide", "late", "early"))
    for folder in (wide, late, early):
        folder.mkdir()

    def narrowed(condition: str) -> str:
        if query is EVENTS:
            return query.replace("WITHIN", f"WHERE p.{condition} WITHIN")
        return query.replace("kind = 'pay'", f"kind = 'pay' AND {condition}")

    before = hits(wide, rows, a_sql=query, gone_sql=LOGIN_PAY)
    after = hits(late, rows, a_sql=narrowed("n > 2"), added_sql=LOGIN_PAY)
    other = hits(early, rows, a_sql=narrowed("n < 6"))
    assert numbers(before, after) == [("a", 0, 1, 2), ("added", 3, 0, 0), ("gone", 0, 3, 0)]
    assert numbers(after, before)[0] == ("a", 1, 0, 2)
    assert numbers(after, other)[0] == ("a", 1, 1, 1)
    (difference, _) = differences(after, other)
    assert [f"{end:%H:%M}" for end in difference.new["ended"].to_pylist()] == ["22:30"]


def test_a_rule_that_fails_has_no_difference(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    before = hits(one, archive("lp"), a_sql=LOGIN_PAY)
    after = hits(other, archive("lp"), a_sql=LOGIN_PAY.replace("kind = 'login'", "1 / (n - 1) > 5"))
    assert differences(before, after) == []


def numbers(before: Sequence[RuleHits], after: Sequence[RuleHits]) -> list[tuple[str, int, int, int]]:
    found = differences(before, after)
    return [(one.rule, one.new.num_rows, one.lost.num_rows, one.unchanged) for one in found]
