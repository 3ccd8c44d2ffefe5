"""Figures of benchmarks are drawn for light and for dark pages; their colours can be seen on both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.pictures.contrast import GRAPHIC, contrast

ROOT = Path(__file__).parents[2]


def test_two_files_with_the_colours_of_their_scheme(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    from benchmarks.colour_schemes import in_both_schemes

    def draw(folder: Path) -> list[Path]:
        (folder / "f.txt").write_text(str(matplotlib.rcParams["figure.facecolor"]))
        return [folder / "f.txt"]

    drawn = in_both_schemes(draw, tmp_path / "figures")
    assert [path.relative_to(tmp_path / "figures").as_posix() for path in drawn] == ["f.txt", "dark/f.txt"]
    assert [path.read_text() for path in drawn] == ["white", "black"]


def test_fixed_colours_are_seen_on_both() -> None:
    for file in ROOT.glob("benchmarks/*/*.py"):
        for colour in re.findall(r'"(#[0-9a-f]{6})"', file.read_text()):
            assert min(contrast(colour, "#ffffff"), contrast(colour, "#000000")) >= GRAPHIC, (file, colour)
