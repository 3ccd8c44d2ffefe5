"""The demo's answers -> one self-contained HTML page: charts with the matches, queries and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

import pyarrow as pa

from ostinato.pictures.payment_chart import payment_chart
from ostinato.pictures.price_chart import COMPACT, WIDE, overview_chart, price_chart
from ostinato.report.excerpts import Match, Series, clearest, excerpt_of, series_by_key
from ostinato.report.sql_words import marked_sql
from ostinato.report.stories import Story

_DRAWN = 5
_ROWS_SHOWN = 8
_LONGEST_CELL = 24


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
Point at a row to read it.</p>
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
    began, ended = match["began"], match["ended"]
    if began.date() == ended.date():
        span = f"{began.day} {began:%B %Y, %H:%M} to {ended:%H:%M}"
    else:
        span = f"{began.day} {began:%B %Y, %H:%M} to {ended.day} {ended:%B, %H:%M}"
    title = f"{story.title}: {excerpt.key}, {span}; {len(excerpt.labels)} rows"
    draw = payment_chart if story.table == "payments" else price_chart
    if is_first:
        charts = draw(excerpt, story, WIDE, title=title, class_="chart only-wide")
        charts += draw(excerpt, story, COMPACT, title=title, class_="chart only-narrow")
        charts += _legend(story)
    else:
        charts = draw(excerpt, story, COMPACT, title=title)
    caption = f"<b>{escape(excerpt.key)}</b><span>{span}</span><span>{len(excerpt.labels)} rows</span>"
    return f"<figure><figcaption>{caption}</figcaption>{charts}</figure>"


def _legend(story: Story) -> str:
    items = []
    for phase in story.phases:
        labels = "" if phase.labels == (phase.name.upper(),) else f" <span>{' '.join(phase.labels)}</span>"
        items.append(f'<li style="--tone:var(--tone-{phase.tone})"><i></i>{escape(phase.name)}{labels}</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def _strips(story: Story, matches: Sequence[Match], series: Mapping[str, Series]) -> str:
    rows = []
    for key, one in series.items():
        starts = [one.row_at(match["began"]) for match in matches if match[story.key] == key]
        count = f"{len(starts):,} {_plural(len(starts), 'match', 'matches')}"
        chart = overview_chart(one.values, starts, title=f"{key}: the whole price line, {count}")
        rows.append(f"<div><dt>{escape(key)}</dt><dd>{chart}</dd><dd>{count}</dd></div>")
    return f'<dl class="strips">{"".join(rows)}</dl>'


def _table(story: Story, matches: pa.Table) -> str:
    names = matches.column_names
    is_number = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in matches.schema.types]
    head = "".join(f"<th{_right(number)}>{escape(name)}</th>" for name, number in zip(names, is_number, strict=True))
    rows = []
    for match in matches.slice(0, _ROWS_SHOWN).to_pylist():
        cells = "".join(_cell(name, match[name], number) for name, number in zip(names, is_number, strict=True))
        rows.append(f"<tr>{cells}</tr>")
    left = matches.num_rows - len(rows)
    more = f'<p class="more">and {left:,} more {_plural(left, "row", "rows")}</p>' if left else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table aria-label="Result of {escape(story.title)}">{body}</table></div>{more}'


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
