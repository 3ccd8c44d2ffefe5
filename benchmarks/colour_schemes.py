"""A function that draws -> its pictures in light colours, and once more in dark ones for dark pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def in_both_schemes(draw: Callable[[Path], list[Path]], folder: Path) -> list[Path]:
    """Draws into the folder, and the same names into its sub-folder `dark`. Needs matplotlib (extra: bench).

    Two files: no text colour has a contrast of 4.5:1 on white and on a dark page alike.
    """
    from matplotlib import style

    dark = folder / "dark"
    dark.mkdir(parents=True, exist_ok=True)
    drawn = draw(folder)
    with style.context("dark_background"):
        return drawn + draw(dark)
