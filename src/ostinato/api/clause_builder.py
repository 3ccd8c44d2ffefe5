"""`ost.pattern("A B+ C")...`: builds a clause by method calls. The query is the same as from text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ostinato.api.query import LocalCall, Query
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, shown, true_or_false, whole_number
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.clause.language.clause_parser import parse_clause, parse_partition_keys, parse_sort_keys
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.query.clause import Definition, MatchMode, MatchRecognize, Measure, Output, Skip, SkipKind, Subset
from ostinato.clause.query.months import Months, parse_within
from ostinato.errors import QueryError
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike


@only_our_errors()
def pattern(text: str) -> PatternQuery:
    """A query for a row pattern; its methods set the rest of the clause.

    >>> query = (
    ...     pattern("DOWN+ UP+")
    ...     .partition_by("symbol")
    ...     .order_by("ts")
    ...     .define(DOWN="price < PREV(price)", UP="price > PREV(price)")
    ...     .measures(bottom="LAST(DOWN.price)")
    ... )
    >>> print(query.to_sql())
    PARTITION BY symbol
    ORDER BY ts
    MEASURES last(DOWN.price) AS `bottom`
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (DOWN+ UP+)
    DEFINE DOWN AS (price < prev(price)), UP AS (price > prev(price))
    """
    return PatternQuery(MatchRecognize(parse_row_pattern(text)))


@dataclass(frozen=True, slots=True, repr=False)
class PatternQuery(Query):
    """A clause, finished or not; every method returns a new one. `query` checks it.

    `ost.match(query, table)` runs it in process, `df.transform(query)` on Spark. `ost.match_recognize(query, ...)`
    gives it options.
    """

    clause: MatchRecognize

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of the clause as a lazy DataFrame."""
        from ostinato.api.clauses import match_recognize

        return match_recognize(self)(df)

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the clause over a table."""
        from ostinato.api.clauses import match_recognize

        return match_recognize(self).in_process(table, call)

    @property
    @only_our_errors()
    def query(self) -> MatchRecognize:
        """The clause, checked as if it had been read from text."""
        return parse_clause(self.to_sql())

    @only_our_errors()
    def to_sql(self) -> str:
        """The text that goes between the parentheses of MATCH_RECOGNIZE ( ... )."""
        return render_clause(self.clause)

    @only_our_errors()
    def partition_by(self, *columns: str) -> PatternQuery:
        """Columns by name; back-quote names that aren't plain words."""
        return self._with(partition_by=parse_partition_keys(_listed("partition_by", columns)) if columns else ())

    @only_our_errors()
    def order_by(self, *keys: str) -> PatternQuery:
        """Sort keys as in SQL: `"ts"`, `"price DESC NULLS LAST"`."""
        return self._with(order_by=parse_sort_keys(_listed("order_by", keys)) if keys else ())

    @only_our_errors()
    def define(self, **conditions: str) -> PatternQuery:
        """Conditions by variable. Names fold to upper case as in SQL."""
        added = (
            Definition(Name(name).folded, parse_expression(text, reads_aggregates=True))
            for name, text in conditions.items()
        )
        return self._with(definitions=(*self.clause.definitions, *added))

    @only_our_errors()
    def measures(self, **expressions: str) -> PatternQuery:
        """Output columns by name."""
        added = (Measure(name, parse_expression(text, reads_aggregates=True)) for name, text in expressions.items())
        return self._with(measures=(*self.clause.measures, *added))

    @only_our_errors()
    def subset(self, **unions: tuple[str, ...] | list[str]) -> PatternQuery:
        """Union variables: `subset(U=("A", "B"))`."""
        added = (
            Subset(Name(name).folded, tuple(_variable("subset", member) for member in _members(name, members)))
            for name, members in unions.items()
        )
        return self._with(subsets=(*self.clause.subsets, *added))

    @only_our_errors()
    def one_row_per_match(self) -> PatternQuery:
        """Each match gives one row: the partition columns and the measures. This is the default."""
        return self._with(output=Output.ONE_ROW)

    @only_our_errors()
    def all_rows_per_match(self, *, omit_empty: bool = False, with_unmatched: bool = False) -> PatternQuery:
        """Each row of a match gives a row, with all columns of the input. `with_unmatched` also shows other rows."""
        if true_or_false("omit_empty", omit_empty) and true_or_false("with_unmatched", with_unmatched):
            raise QueryError("INVALID_ARGUMENTS", "OMIT EMPTY MATCHES and WITH UNMATCHED ROWS exclude each other")
        if with_unmatched:
            return self._with(output=Output.ALL_ROWS_WITH_UNMATCHED)
        return self._with(output=Output.ALL_ROWS_OMIT_EMPTY if omit_empty else Output.ALL_ROWS)

    @only_our_errors()
    def show_timeouts(self) -> PatternQuery:
        """Partial matches that WITHIN cut off are shown like matches."""
        return self._with(show_timeouts=True)

    @only_our_errors()
    def skip_past_last_row(self) -> PatternQuery:
        """The next match begins after the last row of this one. This is the default."""
        return self._with(skip=Skip(), mode=MatchMode.PREFERRED)

    @only_our_errors()
    def skip_to_next_row(self) -> PatternQuery:
        """The next match may begin at the second row of this one."""
        return self._with(skip=Skip(SkipKind.TO_NEXT_ROW), mode=MatchMode.PREFERRED)

    @only_our_errors()
    def skip_to_first(self, variable: str) -> PatternQuery:
        """The next match may begin at the first row of a variable."""
        return self._with(skip=Skip(SkipKind.TO_FIRST, _variable("skip_to_first", variable)), mode=MatchMode.PREFERRED)

    @only_our_errors()
    def skip_to_last(self, variable: str) -> PatternQuery:
        """The next match may begin at the last row of a variable."""
        return self._with(skip=Skip(SkipKind.TO_LAST, _variable("skip_to_last", variable)), mode=MatchMode.PREFERRED)

    @only_our_errors()
    def all_matches(self) -> PatternQuery:
        """Every sequence of rows that matches is a match, however many overlap."""
        return self._with(mode=MatchMode.ALL, skip=Skip())

    @only_our_errors()
    def incremental_matches(self) -> PatternQuery:
        """A match for each last row: the one that begins first."""
        return self._with(mode=MatchMode.INCREMENTAL, skip=Skip())

    @only_our_errors()
    def maximal_matches(self) -> PatternQuery:
        """Matches that no other match contains."""
        return self._with(mode=MatchMode.MAXIMAL, skip=Skip())

    @only_our_errors()
    def within(self, length: timedelta | str) -> PatternQuery:
        """The longest time from the first to the last row: a timedelta, `"10 MINUTES"` or `"1 MONTH"`."""
        within = parse_within(length) if isinstance(length, str) else length
        if within is None:
            raise QueryError("INVALID_WITHIN", f"'{length}' isn't an interval above zero", hint='"10 MINUTES"')
        if not isinstance(within, timedelta | Months):
            raise QueryError(
                "INVALID_WITHIN", f"within() takes a length of time, not {shown(length)}", hint='"10 MINUTES"'
            )
        return self._with(within=within)

    @only_our_errors()
    def max_length(self, rows: int) -> PatternQuery:
        """The most rows of a match (MAXLENGTH)."""
        return self._with(max_length=whole_number("max_length", rows, code_below="INVALID_MAXLENGTH"))

    def __repr__(self) -> str:
        return short_repr(self, self.to_sql())

    def _repr_html_(self) -> str:
        return text_block(self.to_sql())

    def _with(self, **changes: object) -> PatternQuery:
        return PatternQuery(replace(self.clause, **changes))  # type: ignore[arg-type]


def _listed(method: str, pieces: tuple[str, ...]) -> str:
    return ", ".join(a_text(f"each argument of {method}()", piece) for piece in pieces)


def _members(name: str, members: object) -> tuple[object, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        hint = 'subset(U=("A", "B"))'
        raise QueryError("INVALID_OPTION", f"{name} is a list of variables, not {shown(members)}", hint=hint)
    return tuple(members)


def _variable(method: str, name: object) -> str:
    return Name(a_text(f"a variable in {method}()", name)).folded
