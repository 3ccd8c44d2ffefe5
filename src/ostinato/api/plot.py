"""`ost.plot`: the matches of a query or of a table, drawn on their rows.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> trades = pa.table({"minute": [1, 2, 3, 4, 5], "price": [9.0, 8.0, 6.0, 7.0, 9.5]})
>>> query = (
...     ost.pattern("TOP FALL+ RISE+")
...     .order_by("minute")
...     .define(FALL="price < PREV(price)", RISE="price > PREV(price)")
...     .measures(bottom="LAST(FALL.price)")
... )
>>> ost.plot(query, trades)
Plot('1 match between 1 and 5')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ostinato.api.any_query import QuerySource, as_query
from ostinato.api.clauses import MatchRecognizeQuery
from ostinato.api.plot_object import Plot
from ostinato.api.query import ColumnNames, Query
from ostinato.api.results import Result
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, column_names, whole_number
from ostinato.calls.shown_objects import shortened
from ostinato.clause.language.key_columns import refuse_computed_keys
from ostinato.clause.query.clause import MatchRecognize, Measure, Output
from ostinato.clause.query.pattern import variables
from ostinato.errors import QueryError
from ostinato.event_queries.event_request import EventRequest, bound_queries
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_query import EventQuery, ReturnMatches
from ostinato.explanation.explained_clauses import mentioned_columns, table_columns
from ostinato.expressions.parsing import parse_expression
from ostinato.local.local_clause import match_table
from ostinato.local.local_settings import local_settings
from ostinato.pictures.key_strips import KeyStrip
from ostinato.pictures.match_plot import MatchPlot, draw_plot
from ostinato.pictures.plot_axis import Axis, AxisKind
from ostinato.pictures.plot_roles import (
    EVENTS,
    AskedColumns,
    PlotRoles,
    first_number,
    plot_roles,
    roles_in_matches,
)
from ostinato.pictures.plot_tables import (
    PickedMatches,
    distinct_keys,
    event_matches,
    labelled_matches,
    line_of,
    match_spans,
)
from ostinato.pictures.plot_tones import tones_of
from ostinato.pictures.plotted_matches import NO_LINE, Key, Line, PlottedMatch, clearest, key_words
from ostinato.rows.arrow_tables import as_table, columns_of, is_spark_dataframe
from ostinato.spark.clause.clause_options import ClauseOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike

    Drawable: TypeAlias = TableLike | DataFrame
    """A table of any kind that `ost.match` takes, or a Spark DataFrame."""

_MOST_MATCHES = 1_000_000
_CHARTS = 5
_STRIPS = 12
_ROWS_OF_A_MATCH = 50
"""Rows fetched from a DataFrame for each match with one row for each of its rows."""
_ROWS_OF_LINES = 20_000
"""Rows fetched from a DataFrame for the lines around matches."""
_LABEL, _NUMBER = "__plot_label", "__plot_number"
_SETTINGS = local_settings(True, "UTC")


@only_our_errors()
def plot(
    matches: QuerySource | Result[Any] | Drawable,
    rows: Drawable | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    type: TypeArgument = None,
    labels: str | None = None,
    number: str | None = None,
    start: str | None = None,
    end: str | None = None,
    limit: int = 1_000,
) -> Plot:
    """Draws matches: the clearest ones as charts with labelled rows, and all of them on a time line for each key.

    `matches` is a query of any kind to run over `rows`, the result of its `run`, or a table of matches that a query
    returned. Both tables may be a pyarrow Table, a pandas or Polars DataFrame, a DuckDB relation or a Spark DataFrame.
    From a Spark DataFrame, only the rows that are drawn are fetched.

    `x` is the column that orders the rows, `y` the column of the line, and `keys` the columns that divide the rows into
    lines. A query knows them from ORDER BY, DEFINE and PARTITION BY. In a table of matches, `labels` is the column with
    CLASSIFIER() and `number` the one with MATCH_NUMBER() if there is a row for each row of a match. If there is one row
    for each match, `start` and `end` are the columns with its first and last x. At most `limit` matches are drawn.
    `time` and `type` name the columns for clauses that a text leaves out, as in `ost.match`.

    >>> import pyarrow as pa
    >>> prices = pa.table({"minute": [1, 2, 3, 4], "price": [9.0, 8.0, 6.0, 7.0]})
    >>> plot("MEASURES 1 AS n PATTERN (FALL+) DEFINE FALL AS price < PREV(price)", prices, time="minute")
    Plot('1 match between 2 and 3')
    """
    whole_number("limit", limit, most=_MOST_MATCHES)
    names = {"x": x, "y": y, "labels": labels, "number": number, "start": start, "end": end}
    texts = {name: None if column is None else a_text(name, column) for name, column in names.items()}
    asked = AskedColumns(**texts, keys=None if keys is None else column_names("keys", keys))
    columns = {**names, "keys": keys, "time": time, "type": type}
    if isinstance(matches, Result):
        _refuse(columns, "a result chooses the columns of its drawing itself")
        return matches.plot()
    if isinstance(matches, str | MatchRecognize | EventQuery | Query):
        if rows is None:
            raise QueryError("NOT_A_TABLE", "a query is plotted over rows", hint="ost.plot(query, table)")
        query = as_query(matches, keys=keys, time=time, type=type)
        if isinstance(query, EventRequest):
            return _plot_events(query, _rows(rows), asked, limit)
        if isinstance(query, MatchRecognizeQuery):
            return _plot_clause(query, _rows(rows), asked, limit)
        _refuse(columns, f"a {query.__class__.__name__} chooses the columns of its drawing itself")
        drawn: Plot = query.run(rows).plot()  # type: ignore[attr-defined]  # all other kinds have a result
        return drawn
    _refuse({"time": time, "type": type}, "these columns are for queries")
    table, rows = _rows(matches), None if rows is None else _rows(rows)
    roles = roles_in_matches(_types(table), None if rows is None else _types(rows), asked)
    return _draw(roles, table, rows, limit)


def _refuse(columns: Mapping[str, object], why: str) -> None:
    """Raises INVALID_OPTION for the columns that are given."""
    given = [name for name, column in columns.items() if column is not None]
    if given:
        raise QueryError("INVALID_OPTION", f"{', '.join(given)} can't be given here: {why}", hint="leave them out")


# --- the tables -------------------------------------------------------------------------------------------------------


def _rows(data: Any) -> Any:
    """An Arrow table, or a Spark DataFrame as it is."""
    if is_spark_dataframe(data) and hasattr(data, "isStreaming"):
        from ostinato.spark.shipping.shown_rows import batch_only

        return batch_only(data)
    return _arrow(data)


def _arrow(data: Any) -> pa.Table:
    """The columns with a name of their own, with the types that Spark has."""
    return pa.table(columns_of(as_table(data, _SETTINGS)))


def _types(data: Any) -> dict[str, pa.DataType]:
    """Types by column; the columns of a DataFrame whose type Arrow lacks are left out."""
    return dict(table_columns(data).types)


# --- queries ----------------------------------------------------------------------------------------------------------


def _plot_events(query: EventRequest, rows: Any, asked: AskedColumns, limit: int) -> Plot:
    """Draws the matches that an event query counts or returns."""
    types = _types(rows)
    written = query.query.returns
    most = limit + 1
    if isinstance(written, ReturnMatches) and written.limit is not None:
        most = min(most, written.limit)
    listing = replace(query, query=replace(query.query, returns=ReturnMatches(most)))
    bound = bound_queries([listing], list(types), _SETTINGS)[0]
    columns = replace(asked, x=asked.x or bound.time, keys=bound.group_by if asked.keys is None else asked.keys)
    roles = plot_roles(types, columns, events=EVENTS)
    matches = _event_rows(listing, rows)
    is_cut = isinstance(matches, pa.Table) and matches.num_rows > limit  # every group may have more than were listed
    return _draw(roles, matches, rows, limit, has_all_rows=not is_cut)


def _plot_clause(query: MatchRecognizeQuery, rows: Any, asked: AskedColumns, limit: int) -> Plot:
    """Draws the rows of every match of a clause with the variables that they were matched to."""
    types, clause = _types(rows), query.clause_query.clause
    refuse_computed_keys(clause)
    columns = replace(
        asked,
        x=asked.x or (clause.order_by[0].column.text if clause.order_by else None),
        keys=tuple(key.column.text for key in clause.partition_by) if asked.keys is None else asked.keys,
    )
    in_conditions = mentioned_columns(replace(clause, partition_by=(), order_by=(), measures=()))
    columns = replace(columns, y=asked.y or first_number(types, columns, in_conditions))
    roles = plot_roles(types, columns, labels=_LABEL, number=_NUMBER, variables=variables(clause.pattern))
    measures = (
        Measure(_LABEL, parse_expression("CLASSIFIER()")),
        Measure(_NUMBER, parse_expression("MATCH_NUMBER()")),
    )
    listing = replace(clause, measures=measures, output=Output.ALL_ROWS_OMIT_EMPTY)
    return _draw(roles, _clause_rows(listing, rows, query.options), rows, limit)


def _clause_rows(clause: MatchRecognize, rows: Any, options: ClauseOptions) -> Any:
    if isinstance(rows, pa.Table):
        return match_table(clause, rows, settings=_SETTINGS, limits=options.limits)
    from ostinato.spark.clause.clause_dataframe import match_dataframe

    return match_dataframe(clause, rows, options)


def _event_rows(query: EventRequest, rows: Any) -> Any:
    if isinstance(rows, pa.Table):
        from ostinato.local.local_events import match_events

        return match_events(query, rows, _SETTINGS)
    from ostinato.spark.event_queries.event_dataframes import events_dataframe

    return events_dataframe(query, rows)


# --- the drawing ------------------------------------------------------------------------------------------------------


def _draw(roles: PlotRoles, table: Any, rows: Any, limit: int, *, has_all_rows: bool = True) -> Plot:
    picked = _picked_matches(roles, table, limit)
    total = picked.total if has_all_rows else None
    matches = sorted(picked.matches, key=lambda match: match.first)
    has_all = total is not None and total <= limit
    local = rows if isinstance(rows, pa.Table) else None
    keys, has_more_keys = _shown_keys(matches, local if has_all else None, roles.keys)
    lines = {key: _line(local, key, roles) for key in keys}
    strips = [
        KeyStrip(key, line, [match for match in matches if match.key == key], has_all=has_all)
        for key, line in lines.items()
    ]
    charts = _charts(strips, rows, roles) if roles.y is not None else []
    notes = [f"Only the first {len(keys):,} keys have a line of their own."] if has_more_keys else []
    title = _title(matches, total, roles.axis)
    labels = dict.fromkeys(label for match in matches for label in match.labels)
    tones = tones_of([*(name for name in roles.variables if name in labels), *labels])
    return Plot(title, draw_plot(MatchPlot(title, notes, roles.axis, tones, charts, strips)))


def _charts(strips: Sequence[KeyStrip], rows: Any, roles: PlotRoles) -> list[tuple[PlottedMatch, Line]]:
    """The clearest matches, each with the rows around it."""
    lines = {strip.key: strip.line for strip in strips}
    drawn = clearest([strip.line.filled(match) for strip in strips for match in strip.matches], _CHARTS)
    if rows is not None and not isinstance(rows, pa.Table) and drawn:
        fetched = _rows_around(rows, drawn, roles)
        lines = {match.key: _line(fetched, match.key, roles) for match in drawn}
    charts = [(lines[match.key].filled(match), lines[match.key].around(match)) for match in drawn]
    return [(match, line) for match, line in charts if len(line.x) or match.labels]


def _picked_matches(roles: PlotRoles, table: Any, limit: int) -> PickedMatches:
    """Matches of a table; the first ones of a DataFrame, from which no more rows are fetched than that takes."""
    is_labelled = roles.labels is not None and roles.number is not None
    most = limit * _ROWS_OF_A_MATCH + 1 if is_labelled else limit + 1
    if not isinstance(table, pa.Table):
        from ostinato.spark.shipping.shown_rows import first_rows

        first = _arrow(first_rows(table, most))
        picked = _picked_matches(roles, first.slice(0, most - 1), limit)
        return replace(picked, total=None) if first.num_rows == most else picked
    if roles.events is not None:
        return event_matches(table, limit, keys=roles.keys, events=roles.events, x=roles.x, y=roles.y)
    if roles.labels is not None and roles.number is not None:
        return labelled_matches(
            table, limit, keys=roles.keys, number=roles.number, labels=roles.labels, x=roles.x, y=roles.y
        )
    return match_spans(table, limit, keys=roles.keys, start=roles.start, end=roles.end)


def _line(rows: pa.Table | None, key: Key, roles: PlotRoles) -> Line:
    if rows is None or roles.y is None:
        return NO_LINE
    return line_of(rows, keys=roles.keys, key=key, x=roles.x, y=roles.y)


def _shown_keys(matches: Sequence[PlottedMatch], rows: pa.Table | None, keys: Sequence[str]) -> tuple[list[Key], bool]:
    """The keys that get a strip: those with matches, then others; and whether there are more."""
    found = dict.fromkeys(match.key for match in matches)
    if rows is not None and len(found) <= _STRIPS:
        found |= dict.fromkeys(distinct_keys(rows, keys, _STRIPS))
    return list(found)[:_STRIPS], len(found) > _STRIPS


def _title(matches: Sequence[PlottedMatch], total: int | None, axis: Axis) -> str:
    """`ACME: 3 matches between ... and ...`, or `1,000 of 5,000 matches in 12 keys between ... and ...`."""
    if not matches:
        return "no matches"
    count = f"at least {len(matches):,}" if total is None else f"{len(matches):,}"
    if total is not None and total > len(matches):
        count += f" of {total:,}"
    keys = {match.key for match in matches}
    of_key = f"{shortened(key_words(matches[0].key), 40)}: " if len(keys) == 1 and matches[0].key else ""
    in_keys = f" in {len(keys):,} keys" if len(keys) > 1 else ""
    between = f"between {axis.words(matches[0].first)} and {axis.words(max(match.last for match in matches))}"
    return f"{of_key}{count} {'match' if count == '1' else 'matches'}{in_keys} {between}"


def _rows_around(df: Any, drawn: Sequence[PlottedMatch], roles: PlotRoles) -> pa.Table:
    """Fetches the rows of a DataFrame that are near the drawn matches."""
    from ostinato.spark.shipping.shown_rows import RowRange, rows_in_ranges

    more = max(match.last - match.first for match in drawn) / 3
    ranges = [
        RowRange(match.key, _literal(match.first - more, roles.axis), _literal(match.last + more, roles.axis))
        for match in drawn
    ]
    return _arrow(rows_in_ranges(df, roles.keys, roles.x, roles.y or roles.x, ranges, _ROWS_OF_LINES))


def _literal(value: float, axis: Axis) -> Any:
    """A value of x for Spark: a number, or a text that Spark reads as a time of the column's type."""
    if axis.kind is AxisKind.NUMBER:
        return value
    return axis.words(value) + ("+00:00" if axis.zone else "")
