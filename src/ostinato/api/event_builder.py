"""`ost.event_seq("A", "B+ b")...`: an event query built by calls. Gives the same query as the text would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ostinato.api.query import LocalCall, Query
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, shown, true_or_false
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import EventQuery, TimeSpan
from ostinato.event_queries.language.event_render import render_bound, render_word
from ostinato.expressions.render import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike

Length = timedelta | int | str
"""A length of time, a number of events, or the text of either: `"30 MINUTES"`, `"1000 EVENTS"`."""


@only_our_errors()
def event_seq(*parts: str | EventBuilder) -> EventBuilder:
    """One part after another.

    >>> query = (
    ...     event_seq("Request r", "Travel+ t", event_not("Pickup p"))
    ...     .same("driver", "rider")
    ...     .where("t.speed < 10", "NEXT(t).speed <= t.speed")
    ...     .group_by("district")
    ...     .within("30 MINUTES", slide="5 MINUTES")
    ...     .returns("district", "COUNT(*)", total="SUM(t.duration)")
    ... )
    >>> print(query.to_text())
    PATTERN SEQ(Request r, Travel+ t, NOT (Pickup p))
    WHERE SAME[driver, rider] AND (t.speed < 10) AND (NEXT(t).speed <= t.speed)
    GROUP BY district
    WITHIN 30 MINUTES SLIDE 5 MINUTES
    RETURN district, COUNT(*), SUM(t.duration) AS `total`
    """
    return EventBuilder(f"SEQ({', '.join(_text(part) for part in parts)})")


@only_our_errors()
def event_or(*parts: str | EventBuilder) -> EventBuilder:
    """A match of any of the parts.

    >>> print(event_or("A", event_seq("B", "C")).returns("COUNT(*)").to_text())
    PATTERN ((A) OR (SEQ(B, C)))
    RETURN COUNT(*)
    """
    return EventBuilder(f"({' OR '.join(f'({_text(part)})' for part in parts)})")


@only_our_errors()
def event_and(first: str | EventBuilder, second: str | EventBuilder) -> EventBuilder:
    """Pairs of matches, for COUNT(*) only.

    >>> event_and("A", event_seq("B", "C")).pattern
    '(A) AND (SEQ(B, C))'
    """
    return EventBuilder(f"({_text(first)}) AND ({_text(second)})")


@only_our_errors()
def event_not(part: str | EventBuilder) -> str:
    """A part of `event_seq`: no match of it may lie between the parts around it.

    >>> event_seq("A", event_not("B"), "C").pattern
    'SEQ(A, NOT (B), C)'
    """
    return f"NOT ({_text(part)})"


@only_our_errors()
def event_repeat(part: str | EventBuilder, times: str = "+") -> EventBuilder:
    """The part once or more (`+`), any number of times (`*`), at most once (`?`), or `{n}`, `{n,m}`, `{n,}`, `{,m}`.

    >>> event_repeat(event_seq("A", "B"), "{2,3}").pattern
    '(SEQ(A, B)){2,3}'
    """
    return EventBuilder(f"({_text(part)}){_piece('times', times)}")


@only_our_errors()
def event_without(part: str | EventBuilder, *types: str) -> EventBuilder:
    """The part, with no event of these types between its events: `event_without("Rise+ r", "Maintenance m")`.

    >>> event_without("Rise+ r", "Maintenance m", "Stop").pattern
    '(Rise+ r) WITHOUT (Maintenance m OR Stop)'
    """
    return EventBuilder(f"({_text(part)}) WITHOUT ({_pieces('types', types, ' OR ')})")


def _text(part: str | EventBuilder) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, EventBuilder):
        raise QueryError("INVALID_ARGUMENTS", f"a part of a pattern is text or ost.event_seq(...), not {shown(part)}")
    if part != EventBuilder(part.pattern):
        raise QueryError(
            "INVALID_ARGUMENTS",
            f"the part {part.pattern} of a pattern has its own clauses",
            hint="call where(), within() and the others on the whole pattern",
        )
    return part.pattern


@dataclass(frozen=True, slots=True, repr=False)
class EventBuilder(Query):
    """A query under construction; every method returns a new one. `query` parses and checks it.

    The strings are pieces of the text form, so the builder can express the same queries. `ost.match(query, table)` runs
    it in process, `df.transform(query)` on Spark. `ost.events(query, ...)` gives it options.
    """

    pattern: str
    source: str | None = None
    types: str | None = None
    ordered_by: str | None = None
    selection: str | None = None
    conditions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    bound: str | None = None
    output: str | None = None

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the query's rows as a lazy DataFrame."""
        from ostinato.api.events import events

        return events(self)(df)

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the query over a table."""
        from ostinato.api.events import events

        return events(self).in_process(table, call)

    @property
    @only_our_errors()
    def query(self) -> EventQuery:
        """The query, parsed and checked like text."""
        return parse_event_query(self.to_text())

    @only_our_errors()
    def to_text(self) -> str:
        """The query's text, a clause on each line."""
        clauses = (
            ("FROM", self.source),
            ("TYPE", self.types),
            ("TIME", self.ordered_by),
            ("PATTERN", self.pattern),
            ("", self.selection),
            ("WHERE", " AND ".join(self.conditions)),
            ("GROUP BY", ", ".join(self.groups)),
            ("WITHIN", self.bound),
            ("RETURN", self.output),
        )
        return "\n".join(f"{word} {text}".strip() for word, text in clauses if text)

    @only_our_errors()
    def from_(self, table: str) -> EventBuilder:
        """The table that the query reads, for the command line."""
        return replace(self, source=_piece("table", table))

    @only_our_errors()
    def type(self, column: str | None = None, **conditions: str) -> EventBuilder:
        """The column that names the type, or a condition for each: `type(Slow="speed < 10", Fast="speed >= 10")`."""
        if (column is None) == (not conditions):
            raise QueryError("INVALID_ARGUMENTS", "type() takes either a column or a condition for each type")
        written = {name: _piece(name, condition) for name, condition in conditions.items()}
        defined = ", ".join(f"{render_word(name)} AS ({condition})" for name, condition in written.items())
        return replace(self, types=defined if column is None else _piece("column", column))

    @only_our_errors()
    def time(self, column: str) -> EventBuilder:
        """The column with the events' times."""
        return replace(self, ordered_by=_piece("column", column))

    @only_our_errors()
    def strict(self, *types: str) -> EventBuilder:
        """STRICT: the events of a match directly follow one another. With types: STRICT ON these types."""
        on = f" ON ({', '.join(render_word(_piece('types', kind)) for kind in types)})" if types else ""
        return replace(self, selection=f"STRICT{on}")

    @only_our_errors()
    def skip_till_next_match(self) -> EventBuilder:
        """The next event of a match is the first one that fits. Events that don't fit may lie between."""
        return replace(self, selection="SKIP TILL NEXT MATCH")

    @only_our_errors()
    def skip_till_any_match(self) -> EventBuilder:
        """Any events may lie between the events of a match. This is the default."""
        return replace(self, selection="SKIP TILL ANY MATCH")

    @only_our_errors()
    def same(self, *columns: str) -> EventBuilder:
        """All events of a match agree in these columns."""
        return replace(self, conditions=(*self.conditions, f"SAME[{_pieces('columns', columns)}]"))

    @only_our_errors()
    def where(self, *conditions: str) -> EventBuilder:
        """Conditions that all must hold."""
        return replace(
            self, conditions=(*self.conditions, *(f"({_piece('a condition', condition)})" for condition in conditions))
        )

    @only_our_errors()
    def group_by(self, *columns: str) -> EventBuilder:
        """The columns whose values divide the events into groups, each with its own matches and rows."""
        return replace(self, groups=tuple(_piece("columns", column) for column in columns))

    @only_our_errors()
    def within(self, length: Length, *, slide: Length | None = None, tumble: bool = False) -> EventBuilder:
        """The largest extent of a match; with `slide` or `tumble`, the length of windows. A number counts events."""
        if slide is not None and true_or_false("tumble", tumble):
            raise QueryError("INVALID_ARGUMENTS", "within() takes slide or tumble, not both")
        behind = " TUMBLE" if tumble else "" if slide is None else f" SLIDE {_length(slide)}"
        return replace(self, bound=_length(length) + behind)

    @only_our_errors()
    def returns(self, *items: str, **named: str) -> EventBuilder:
        """Output columns: GROUP BY columns, window edges and aggregates. A keyword gives a column its name."""
        renamed = (f"{_piece(name, text)} AS {quote(name)}" for name, text in named.items())
        return replace(self, output=_pieces("items", (*items, *renamed)))

    @only_our_errors()
    def returns_matches(self, limit: int | None = None) -> EventBuilder:
        """The matches themselves, at most `limit` for each group and window."""
        return replace(self, output="MATCHES" + ("" if limit is None else f" LIMIT {limit}"))

    def __repr__(self) -> str:
        return short_repr(self, self.to_text())

    def _repr_html_(self) -> str:
        return text_block(self.to_text())


def _piece(name: str, text: object) -> str:
    """A piece of the query's text."""
    return a_text(name, text, code="INVALID_ARGUMENTS")


def _pieces(name: str, texts: Iterable[object], between: str = ", ") -> str:
    return between.join(_piece(name, text) for text in texts)


def _length(length: Length) -> str:
    if isinstance(length, timedelta):
        return render_bound(TimeSpan(length))
    if isinstance(length, int) and not isinstance(length, bool):
        return f"{length} EVENTS"
    return a_text("a length", length, code="INVALID_ARGUMENTS", hint='"30 MINUTES", a timedelta, or a number of events')
