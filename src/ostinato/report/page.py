"""The demo's answers -> one self-contained HTML page: charts with the matches, queries and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

import pyarrow as pa

from ostinato.calls.shown_objects import escape
from ostinato.pictures.payment_chart import payment_chart
from ostinato.pictures.price_chart import COMPACT, WIDE, overview_chart, price_chart
from ostinato.report.excerpts import Match, Series, clearest, excerpt_of, sample, series_by_key
from ostinato.report.picture_words import overview_words, payment_words, price_words, span_words
from ostinato.report.sql_words import marked_sql
from ostinato.report.stories import Story

_DRAWN = 5
_ROWS_SHOWN = 8
_LONGEST_CELL = 24
_OTHER_MARKS = {
    "trades": {
        "knot": "last trade of a variable",
        "context": "trades around the match",
        "neckline": "neckline, through the lows beside the head",
        "band": "first to last trade of the match",
    },
    "payments": {
        "stem tone-0": "other payments of the card",
        "knot": "one payment: its height is the amount, on a logarithmic scale",
        "band": "first to last payment of the match",
    },
    "strips": {"overview": "price", "tick": "start of a match"},
}
"""The elements that a chart draws beside the phases of a match, by their class."""


@dataclass(frozen=True, slots=True)
class StoryAnswer:
    """The matches of one query, and the seconds from the call to the last row."""

    story: Story
    matches: pa.Table
    seconds: float
    remark: str = ""
    """A sentence about the answer, such as the number of frauds hidden in the data."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Versions and commands that the page shows."""

    versions: str
    next_steps: Sequence[str]


def report_page(answers: Sequence[StoryAnswer], tables: Mapping[str, pa.Table], setting: Setting) -> str:
    """The page. `tables` are the inputs by name, each sorted by the key of the stories that use it, then by time."""
    sizes = " and ".join(f"{table.num_rows:,} {name}" for name, table in tables.items())
    sections = "".join(_section(answer, tables[answer.story.table]) for answer in answers)
    style = "".join(
        files(package).joinpath(name).read_text(encoding="utf-8")
        for package, name in (("ostinato.report", "page.css"), ("ostinato.pictures", "chart.css"))
    )
    script = files("ostinato.report").joinpath("page.js").read_text(encoding="utf-8")
    steps = escape("\n".join(setting.next_steps))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ostinato: three patterns found with MATCH_RECOGNIZE on Spark</title>
<style>
{style}</style>
</head>
<body>
<header>
<p class="mark">Ostinato demo</p>
<h1>Three patterns in {escape(sizes)}</h1>
<p>Each question below is one SQL statement with a <code>MATCH_RECOGNIZE</code> clause, run on Apache Spark through
PySpark. The coloured lines in the charts are the rows that Spark returned. Each colour stands for pattern variables.
Point at a chart or tap it to read its rows. With the keyboard: Tab to a chart, then the arrow keys.</p>
<nav aria-label="Questions"><ul class="tiles">{"".join(_tile(answer) for answer in answers)}</ul></nav>
</header>
<main>
{sections}
</main>
<footer>
<h2>Carry on</h2>
<p>The data and the queries lie beside this page. Change a query and run it again:</p>
<pre><code>{steps}</code></pre>
<small>{escape(setting.versions)}. All data is generated from a seed; names are invented.</small>
</footer>
<script>
{script}</script>
</body>
</html>
"""


def _tile(answer: StoryAnswer) -> str:
    story = answer.story
    return (
        f'<li><a href="#{story.anchor}"><strong>{answer.matches.num_rows:,}</strong>{escape(story.title)}'
        f"<small>in {escape(story.table)}, {answer.seconds:.1f} s</small></a></li>"
    )


def _section(answer: StoryAnswer, table: pa.Table) -> str:
    story, matches = answer.story, answer.matches.to_pylist()
    every_key = story.table == "trades"
    series = series_by_key(table, story.key, None if every_key else {match[story.key] for match in matches})
    drawn = clearest(story, matches, series, _DRAWN)
    facts = (
        f"{len(matches):,} {_plural(len(matches), 'match', 'matches')} in {table.num_rows:,} {story.table}, "
        f"{answer.seconds:.1f} s from query to rows. {answer.remark}"
    )
    body = [
        f'<section id="{story.anchor}"><h2>{escape(story.title)}</h2><p>{escape(story.lead)}</p>',
        f'<p class="facts">{escape(facts)}</p>',
    ]
    if drawn:
        body.append(_figure(story, drawn[0], series, is_first=True))
        body.append(f'<div class="grid">{"".join(_figure(story, match, series) for match in drawn[1:])}</div>')
    if every_key:
        body.append("<h3>Where they are</h3>" + _strips(story, matches, series))
    body.append(f"<h3>The query</h3><pre><code>{marked_sql(story.sql)}</code></pre>")
    body.append("<h3>The result</h3>" + _table(story, answer.matches))
    return "".join([*body, "</section>\n"])


def _figure(story: Story, match: Match, series: Mapping[str, Series], *, is_first: bool = False) -> str:
    excerpt = excerpt_of(match, series[match[story.key]], zoom=story.table == "trades")
    span = span_words(match["began"], match["ended"])
    is_payment = story.table == "payments"
    draw = payment_chart if is_payment else price_chart
    title = (payment_words if is_payment else price_words)(story, excerpt)
    if is_first:
        charts = draw(excerpt, story, WIDE, title=title, class_="chart only-wide")
        charts += draw(excerpt, story, COMPACT, title=title, class_="chart only-narrow")
        charts += _legend(story.table, charts, story)
    else:
        charts = draw(excerpt, story, COMPACT, title=title)
    caption = f"<b>{escape(excerpt.key)}</b><span>{span}</span><span>{len(excerpt.labels)} rows</span>"
    return f"<figure><figcaption>{caption}</figcaption>{charts}</figure>"


def _legend(kind: str, charts: str, story: Story | None = None) -> str:
    """An entry for each phase of the story, and for everything else that the charts draw."""
    items = []
    for phase in story.phases if story else ():
        labels = "" if phase.labels == (phase.name.upper(),) else f" <span>{' '.join(phase.labels)}</span>"
        items.append(f'<li><i class="tone-{phase.tone}"></i>{escape(phase.name)}{labels}</li>')
    for mark, words in _OTHER_MARKS[kind].items():
        if f'class="{mark}' in charts:
            items.append(f'<li><i class="{mark}"></i>{words}</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def _strips(story: Story, matches: Sequence[Match], series: Mapping[str, Series]) -> str:
    rows = []
    for key, one in series.items():
        starts = [one.row_at(match["began"]) for match in matches if match[story.key] == key]
        count = f"{len(starts):,} {_plural(len(starts), 'match', 'matches')}"
        chart = overview_chart(one.values, starts, title=overview_words(key, one.times, one.values, count))
        rows.append(f"<div><dt>{escape(key)}</dt><dd>{chart}</dd><dd>{count}</dd></div>")
    strips = "".join(rows)
    return f'<dl class="strips">{strips}</dl>{_legend("strips", strips)}'


def _table(story: Story, matches: pa.Table) -> str:
    names = matches.column_names
    is_number = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in matches.schema.types]
    head = "".join(
        f'<th scope="col"{_right(number)}>{escape(name)}</th>' for name, number in zip(names, is_number, strict=True)
    )
    rows = []
    for match in sample(matches, story.key, _ROWS_SHOWN).to_pylist():
        cells = "".join(_cell(name, match[name], number) for name, number in zip(names, is_number, strict=True))
        rows.append(f"<tr>{cells}</tr>")
    count = f"{matches.num_rows:,} {_plural(matches.num_rows, 'row', 'rows')}"
    if len(rows) < matches.num_rows:
        count = f"{len(rows)} of {count}, from as many keys as possible"
    caption = f"<caption>{escape(story.title)}: {count}</caption>"
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="Rows of {escape(story.title)}">'
    return f"{box}<table>{caption}{body}</table></div>"


def _cell(name: str, value: Any, number: bool) -> str:
    if isinstance(value, float):
        words = f"{value:,.2f}"
    elif isinstance(value, datetime):
        words = f"{value:%Y-%m-%d %H:%M:%S}"
    else:
        words = str(value)
    if len(words) > _LONGEST_CELL:
        full, words = words, words[: _LONGEST_CELL - 1] + "…"
        return f'<td class="{"labels" if name == "labels" else ""}" title="{escape(full)}">{escape(words)}</td>'
    kind = ' class="labels"' if name == "labels" else _right(number)
    return f"<td{kind}>{escape(words)}</td>"


def _right(number: bool) -> str:
    return ' class="right"' if number else ""


def _plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
