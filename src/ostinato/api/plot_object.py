"""`Plot`: a drawing as a public object, for `ost.plot` and for `.plot()` of results."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text
from ostinato.calls.shown_objects import shortened
from ostinato.errors import QueryError
from ostinato.pictures.html_blocks import html_page, svg_block

_PAGE_STYLE = """:root { color-scheme: light dark; }
body { margin: 24px auto; max-width: 980px; padding: 0 16px; }
"""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing of matches. Notebooks show it; `save` writes it to a file."""

    title: str
    """The alt text: the keys, the number of matches and their times."""
    svg: str = field(repr=False)
    """The drawing as a self-contained SVG."""

    @property
    def html(self) -> str:
        """The drawing on a self-contained HTML page."""
        return html_page(self.title, _PAGE_STYLE, svg_block(self.svg))

    @only_our_errors()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an .svg or .html file, by the suffix of the path."""
        file = Path(a_text("path", os.fspath(path) if isinstance(path, os.PathLike) else path))
        suffix = file.suffix.lower()
        if suffix not in (".svg", ".html", ".htm"):
            raise QueryError("UNKNOWN_FORMAT", f"a plot can't be written to {file.name}", hint="plot.svg or plot.html")
        if not file.absolute().parent.is_dir():
            raise QueryError("OUTPUT_FOLDER_MISSING", f"there is no folder {file.absolute().parent}")
        file.write_text(self.svg if suffix == ".svg" else self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Plot({shortened(self.title, 90)!r})"

    def _repr_html_(self) -> str:
        return svg_block(self.svg)
