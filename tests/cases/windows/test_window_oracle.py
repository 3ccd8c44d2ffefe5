"""Every hand-worked case of windows through the reference oracle."""

from __future__ import annotations

import pytest
from tests.cases.windows import WindowCase, load_windows

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.windows.window_checks import check_window
from ostinato.errors import OstinatoError
from ostinato.reference.window_oracle import window_rows


@pytest.mark.parametrize("case", load_windows(), ids=lambda case: case.id)
def test_case(case: WindowCase) -> None:
    if case.case.error is not None:
        with pytest.raises(OstinatoError) as caught:
            rows_of(case)
        assert caught.value.code == case.case.error, str(caught.value)
        return
    assert case.difference(rows_of(case)) is None


def rows_of(case: WindowCase) -> list[dict[str, object]]:
    """The rows of the oracle."""
    window, names = case.pattern(), [column.name for column in case.case.columns]
    check_window(window)
    bind(window.clause, names)
    return window_rows(window, names, [dict(zip(names, row, strict=True)) for row in case.case.rows])


def test_names_are_unique() -> None:
    names = [case.id for case in load_windows()]
    assert len(names) > 50
    assert len(set(names)) == len(names)
