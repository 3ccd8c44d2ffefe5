"""A query and its result -> one self-contained HTML page: pictures of the matches, rows, query and explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import pyarrow as pa

from ostinato.calls.shown_objects import escape, text_block
from ostinato.pictures.html_blocks import html_page, svg_block, table_block
from ostinato.report.sql_words import marked_sql


@dataclass(frozen=True, slots=True)
class RunReport:
    """The parts of the page. `result` has the first rows; `count` is the number of all."""

    query: str
    result: pa.Table
    count: int
    pictures: Sequence[str] = ()
    notes: Sequence[str] = ()
    """Sentences that say why a picture is missing."""
    explanation: str = ""
    versions: str = ""


def run_page(report: RunReport) -> str:
    """The page. It loads nothing, and all texts of the query and its data are escaped."""
    title = f"{report.count:,} {'row' if report.count == 1 else 'rows'}"
    shown = min(report.count, report.result.num_rows)
    caption = "All rows of the result" if shown == report.count else f"The first {shown:,} of {report.count:,} rows"
    explanation = text_block(report.explanation) if report.explanation else ""
    sections = (
        f"<h1>{title}</h1>",
        *(f"<p>{escape(note)}</p>" for note in report.notes),
        *(f"<section>{svg_block(picture)}</section>" for picture in report.pictures),
        f"<h2>Result</h2>{table_block(report.result, caption, most=shown)}",
        f"<h2>Query</h2><pre><code>{marked_sql(report.query)}</code></pre>",
        f"<h2>How it runs</h2>{explanation}" if explanation else "",
        f"<footer>{escape(report.versions)}</footer>",
    )
    style = files("ostinato.report").joinpath("run_page.css").read_text(encoding="utf-8")
    return html_page(f"Ostinato: {title}", style, f"<main>{''.join(sections)}</main>")
