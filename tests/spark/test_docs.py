"""The ```python spark blocks of the documentation, typed into one session page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.compiled_kernels import CACHE, compiled_in

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python spark\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if blocks(page)]


def test_there_are_pages_with_blocks() -> None:
    assert {"README.md", "tutorial.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(spark: SparkSession, page: Path) -> None:
    """The blocks of a page share their names, as in a shell. Each asserts the statements of the text."""
    compiled_before = set(compiled_in(CACHE))
    names: dict[str, object] = {"spark": spark}
    for number, block in enumerate(blocks(page), start=1):
        assert "assert " in block, f"block {number} of {page.name} checks nothing"
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    assert set(compiled_in(CACHE)) == compiled_before, "driver or workers compiled kernels: run `make kernels`"
