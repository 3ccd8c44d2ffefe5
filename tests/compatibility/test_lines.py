"""Every line of docs/compatibility/ is true, and the pages are as written from their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compatibility import Line, engine_files, load_lines
from tests.compatibility.pages import FOLDER, page

import ostinato as ost


@pytest.mark.parametrize("line", [line for line in load_lines() if not line.spark], ids=lambda line: line.id)
def test_line(line: Line) -> None:
    text = line.text
    if line.error is not None:
        with pytest.raises(ost.OstinatoError) as refused:
            ost.match(text, line.table(), args=line.args)
        assert refused.value.code == line.error
        assert line.hint in (refused.value.hint or ""), refused.value.hint
        if line.write is None:
            return
        text = line.replaced
    assert line.shown(ost.match(text, line.table(), args=line.args)) == line.expect


def test_lines_are_complete() -> None:
    """What is refused has a reason, and what is written otherwise is named by the error, too."""
    for line in load_lines():
        assert (line.expect is None) == bool(line.why), line.id
        assert (line.expect is None or line.write is not None) == (line.error is not None), line.id
        assert line.write is None or line.hint, line.id


@pytest.mark.parametrize("path", engine_files(), ids=lambda path: path.stem)
def test_page_is_written_from_its_lines(path: Path) -> None:
    written = (FOLDER / f"{path.stem}.md").read_text(encoding="utf-8")
    assert written == page(path), "run python -m tests.compatibility.pages"
