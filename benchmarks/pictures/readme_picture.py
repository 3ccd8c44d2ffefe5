"""One head-and-shoulders match as an SVG file, for the README: `python -m benchmarks.pictures.readme_picture FILE`."""

from __future__ import annotations

import sys
from html import escape
from importlib.resources import files
from pathlib import Path

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table
from ostinato.pictures.price_chart import Size, price_chart
from ostinato.pictures.svg import element, text
from ostinato.report.excerpts import clearest, excerpt_of, series_by_key
from ostinato.report.picture_words import price_words
from ostinato.report.sample_events import make_trades
from ostinato.report.stories import HEAD_AND_SHOULDERS, Story

_SIZE = Size(880, 300, 4, 6)
_MARGIN, _HEADLINE = 16.0, 34.0
_ROWS = 200_000


def readme_picture(seed: int = 7) -> str:
    """The SVG text. It carries its own background, so it reads on a white and on a dark page."""
    story = HEAD_AND_SHOULDERS
    trades = make_trades(_ROWS, seed)
    found = match_table(parse_clause(story.clause), trades)
    series = series_by_key(trades, story.key)
    best = clearest(story, found.to_pylist(), series, 1)[0]
    excerpt = excerpt_of(best, series[best[story.key]])
    title = price_words(story, excerpt)
    width, height = _SIZE.width + 2 * _MARGIN, _SIZE.height + _HEADLINE + 2 * _MARGIN
    chart = price_chart(excerpt, story, _SIZE, title=title, class_=None)
    placed = chart.replace("<svg ", f'<svg x="{_MARGIN:g}" y="{_MARGIN + _HEADLINE:g}" width="880" height="300" ', 1)
    style = files("ostinato.pictures").joinpath("chart.css").read_text(encoding="utf-8")
    sheet = element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=10, class_="sheet")
    headline = text(
        f"{excerpt.key}, {best['began'].day} {best['began']:%B %Y}", _MARGIN + 6, _MARGIN + 16, class_="title"
    )
    content = (
        element("title", escape(title)) + element("style", style) + sheet + headline + _legend(story, width) + placed
    )
    # A name, not an address that anything is loaded from: SVG files need it.
    namespace = "http://www.w3.org/2000/svg"
    box = f"0 0 {width:g} {height:g}"
    return (
        element("svg", content, xmlns=namespace, viewBox=box, width=width, height=height, role="img", class_="chart")
        + "\n"
    )


def _legend(story: Story, width: float) -> str:
    parts, x = [], width - _MARGIN - 6
    for phase in reversed(story.phases):
        words = f"{phase.name} {' '.join(phase.labels)}"
        x -= 6.1 * len(words)
        parts.append(text(words, x, _MARGIN + 16))
        parts.append(
            element("rect", x=x - 22, y=_MARGIN + 10, width=15, height=4, rx=2, fill=f"var(--tone-{phase.tone})")
        )
        x -= 38
    return "".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(readme_picture(), encoding="utf-8")
