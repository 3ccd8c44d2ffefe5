"""One match of the README's query as an SVG file: `python -m benchmarks.pictures.readme_picture FILE`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.query.clause import MatchRecognize, Measure
from ostinato.expressions.parsing import parse_expression
from ostinato.local.local_clause import match_table
from ostinato.pictures.phases import Phase
from ostinato.pictures.price_chart import Size, price_chart
from ostinato.pictures.svg import element, escape, text
from ostinato.report.excerpts import clearest, excerpt_of, series_by_key
from ostinato.report.picture_words import price_words
from ostinato.report.sample_events import make_trades
from ostinato.report.stories import Story

ROOT = Path(__file__).parents[2]
_SIZE = Size(880, 300, 4, 6)
_MARGIN, _HEADLINE = 16.0, 34.0
_ROWS = 200_000


def readme_picture(seed: int = 7) -> str:
    """The SVG text. It carries its own background, so it reads on a white and on a dark page."""
    story = FALL_AND_RISE
    trades = make_trades(_ROWS, seed)
    found = match_table(_labelled(readme_clause()), trades)
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


def readme_clause() -> MatchRecognize:
    """The clause of the first query in the README."""
    found = re.search(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return as_clause_query(found[1]).clause


def _labelled(clause: MatchRecognize) -> MatchRecognize:
    """The clause with the measures that a drawing needs."""
    measures = {"began": "FIRST(ts)", "ended": "LAST(ts)", "labels": "array_join(array_agg(CLASSIFIER()), ' ')"}
    added = tuple(Measure(name, parse_expression(text)) for name, text in measures.items())
    return replace(clause, measures=added)


def _clarity(labels: Sequence[str], prices: Sequence[float]) -> float:
    """How deep the fall is, and how much of it the rise makes up; long matches are harder to read."""
    depth, height = prices[0] - min(prices), prices[-1] - min(prices)
    return min(depth, height) / max(depth, height) * (depth / prices[0]) * (1.0 if len(labels) <= 32 else 0.3)


FALL_AND_RISE = Story(
    file="",
    title="Fall and rise",
    lead="",
    table="trades",
    key="symbol",
    phases=(Phase("top", ("TOP",), 1), Phase("fall", ("FALL",), 4), Phase("rise", ("RISE",), 3)),
    marked=("TOP", "FALL", "RISE"),
    clarity=_clarity,
)


def _legend(story: Story, width: float) -> str:
    parts, x = [], width - _MARGIN - 6
    for phase in reversed(story.phases):
        words = phase.name
        x -= 6.1 * len(words)
        parts.append(text(words, x, _MARGIN + 16))
        parts.append(
            element("rect", x=x - 22, y=_MARGIN + 10, width=15, height=4, rx=2, fill=f"var(--tone-{phase.tone})")
        )
        x -= 38
    return "".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(readme_picture(), encoding="utf-8")
