"""Rows as a table of text."""

from datetime import date, datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ostinato.cli.text_table import cell_text, display_width, fitted, text_table


def test_numbers_stand_right_and_text_left() -> None:
    text = text_table(["name", "n", "x"], [["a", 5, Decimal("1.50")], ["bcdef", 123, None]], width=80)
    assert text.splitlines() == [
        "name     n     x",
        "-----  ---  ----",
        "a        5  1.50",
        "bcdef  123  NULL",
    ]


def test_the_note_counts_what_is_left_out() -> None:
    assert text_table(["a"], [[1]], width=80, left_out=1).endswith("\n… 1 more row")
    assert text_table(["a"], [[1]], width=80, left_out=1234).endswith("\n… 1,234 more rows")
    assert text_table(["a"], [], width=80).endswith("\nno rows")
    assert "more" not in text_table(["a"], [[1]], width=80)


def test_long_cells_give_way_before_timestamps() -> None:
    rows = [[datetime(2025, 1, 6, 9, 30), "x" * 200]]
    line = text_table(["ts", "labels"], rows, width=50).splitlines()[-1]
    assert line.startswith("2025-01-06 09:30:00  xxx")
    assert line.endswith("…")
    assert len(line) == 50


def test_data_cannot_move_the_cursor() -> None:
    assert text_table(["a\nb"], [["\x1b[2J\r\n\t"]], width=80).count("\n") == 2
    assert cell_text("\x1b[2J") == "\\x1b[2J"


def test_values_as_people_read_them() -> None:
    given_values = [True, float("nan"), date(2025, 1, 2), b"\x01", {"a": None}, [1.0, "x"], 10**20]
    assert [cell_text(value) for value in given_values] == [
        "true", "nan", "2025-01-02", "0x01", "{a: NULL}", "[1, x]", "100000000000000000000",
    ]  # fmt: skip


def test_wide_characters_are_cut_by_the_columns_they_take() -> None:
    assert display_width("日本") == 4
    line = text_table(["k", "v"], [["日本語" * 20, "end"]], width=30).splitlines()[-1]
    assert display_width(line) <= 30
    assert line.endswith("  end")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(1, 250))
def test_fitted_columns_fit_or_are_as_narrow_as_may_be(natural, width) -> None:
    widths = fitted(natural, width)
    assert all(size <= full for size, full in zip(widths, natural, strict=True))
    total = sum(widths) + 2 * (len(widths) - 1)
    assert total <= width or all(size == min(full, 8) for size, full in zip(widths, natural, strict=True))
