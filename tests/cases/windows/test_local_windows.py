"""The in-process engine on every hand-worked case of windows."""

from __future__ import annotations

import pytest
from tests.cases import arrow_type
from tests.cases.windows import WindowCase, load_windows

from ostinato.clause.plan import frame_distances
from ostinato.errors import OstinatoError
from ostinato.local.local_windows import window_columns


@pytest.mark.parametrize("case", load_windows(), ids=lambda case: case.id)
@pytest.mark.parametrize("most_states", [frame_distances.MOST_SPLIT_STATES, 0], ids=["", "not split"])
def test_case(case: WindowCase, most_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States split by their distance from the frame's first row, and conditions that run with the search instead."""
    monkeypatch.setattr(frame_distances, "MOST_SPLIT_STATES", most_states)
    if case.case.error is not None:
        with pytest.raises(OstinatoError) as caught:
            window_columns(case.pattern(), case.case.table())
        assert caught.value.code == case.case.error, str(caught.value)
        return
    table = case.case.table()
    found = window_columns(case.pattern(), table)
    assert case.difference(found.to_pylist()) is None
    assert found.select(table.column_names) == table, "rows stay in their order"
    for name, written in zip(case.case.expect_columns, case.case.expect_types, strict=True):
        assert written is None or found.schema.field(name).type == arrow_type(written), name
