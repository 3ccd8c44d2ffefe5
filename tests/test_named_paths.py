"""Files and folders that the text names exist: in pages, in docstrings and in comments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "ostinato"
PLACES = (PACKAGE, ROOT / "tests", ROOT / "benchmarks")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
HISTORY = {ROOT / "CHANGELOG.md"}
"""What it names may be gone."""
NAMED = re.compile(r"`([\w./*{},-]+\.(?:py|toml|css)|(?:[\w-]+/)+)`")
MADE_BY_READERS = {"rules/", "checkpoint/", "archive/", "folder/", "data/", "events/", "trades/", "out/", "live/"}
"""Folders of examples."""


def is_there(name: str) -> bool:
    """Whether a file or folder has this name, or a path that ends like this."""
    pattern = re.sub(r"\{[^}]*\}", "*", name).rstrip("/")
    return any(ROOT.glob(pattern)) or any(any(place.rglob(pattern)) for place in PLACES)


@pytest.mark.parametrize("path", sorted(set(PAGES) - HISTORY), ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_pages_exist(path: Path) -> None:
    assert missing(path) == []


def test_paths_in_the_sources_exist() -> None:
    files = [path for place in PLACES for path in place.rglob("*.py")]
    assert {str(path.relative_to(ROOT)): names for path in files if (names := missing(path))} == {}


def missing(path: Path) -> list[str]:
    names = dict.fromkeys(NAMED.findall(path.read_text(encoding="utf-8")))
    return [name for name in names if name not in MADE_BY_READERS and not is_there(name)]
