"""`ost.match_recognize`: a MATCH_RECOGNIZE clause with its options, for tables and DataFrames.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> trades = pa.table({"ts": [1, 2, 3, 4], "price": [10.0, 8.0, 7.0, 9.0]})
>>> dips = ost.match_recognize(
...     "MEASURES LAST(DOWN.price) AS bottom PATTERN (DOWN+ UP) "
...     "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)",
...     time="ts",
... )
>>> ost.match(dips, trades).to_pylist()
[{'bottom': 7.0}]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from ostinato.api.clause_builder import PatternQuery
from ostinato.api.query import ColumnNames, LocalCall, Query, default_columns
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import known_names
from ostinato.calls.shown_objects import short_repr
from ostinato.clause.language.clause_parser import NO_DEFAULTS, DefaultColumns
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.expressions.parameters import NO_PARAMETERS, Args, Parameters
from ostinato.rows.arrow_tables import spark_dataframe
from ostinato.spark.clause.clause_options import DEFAULT_OPTIONS, BatchOptions, ClauseOptions, End, Skew, SortBy
from ostinato.streams.stream_settings import Emit, Late, OnChange, OnError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike


class ClauseOptionNames(TypedDict, total=False):
    """The options of a clause: see `ost.sql`. In this process, a clause has the first and the last three."""

    max_partial_matches: int
    sort: SortBy
    memory_budget: int
    skew: Skew
    late: Late
    eager: bool
    buckets: int
    decision_time: str | None
    forget_keys_after: str | None
    emit: Emit
    on_change: OnChange
    match_id: str | None
    run_id: str | None
    history: DataFrame | None
    end: End
    on_error: OnError


@dataclass(frozen=True, slots=True, repr=False)
class MatchRecognizeQuery(Query):
    """A clause with its options. `ost.match(query, table)` runs it in process, `df.transform(query)` on Spark."""

    source: str | MatchRecognize
    defaults: DefaultColumns = NO_DEFAULTS
    options: ClauseOptions = DEFAULT_OPTIONS
    parameters: Parameters = NO_PARAMETERS

    @property
    def clause_query(self) -> ClauseQuery:
        """The parsed clause, and the SELECT around it."""
        return as_clause_query(self.source, self.defaults, self.parameters).with_ids(self.options.ids)

    def to_sql(self) -> str:
        """Returns the text of the query, with its defaults filled in."""
        return self.clause_query.to_sql()

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of the clause as a lazy DataFrame, streaming if the input is."""
        from ostinato.spark.clause.clause_dataframe import match_dataframe, selected_dataframe
        from ostinato.spark.session.session_settings import session_settings

        spark_dataframe(df, hint="ost.match(query, table) answers it in this process")
        settings = session_settings(df)
        query = self.clause_query.under(settings)
        return selected_dataframe(query, match_dataframe(query.clause, df, self.options, settings))

    def local_options(self) -> ClauseOptions:
        """The options, for a call in this process. Raises INVALID_OPTION for those of Spark."""
        if self.options.batch != BatchOptions() or not self.options.stream.is_default:
            raise QueryError(
                "INVALID_OPTION",
                "sort, memory_budget, skew, end and the options of streams are for Spark",
                hint="in this process a clause has max_partial_matches, match_id, run_id and on_error, and ost.match"
                " has workers and slice_rows",
            )
        return self.options

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the clause over a table."""
        from ostinato.local.local_clause import match_table

        options = self.local_options()
        query = self.clause_query
        matches = match_table(
            query.clause,
            table,
            settings=call.settings,
            limits=options.limits,
            parallel=call.parallel,
            on_error=call.on_error or options.stream.on_error,
        )
        return query.select(matches, call.settings)

    def __repr__(self) -> str:
        return short_repr(self, self.to_sql())

    def _shown(self) -> str:
        return self.to_sql()


@only_our_errors()
def match_recognize(
    clause: str | PatternQuery | MatchRecognize | MatchRecognizeQuery,
    *,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    args: Args = None,
    **options: Unpack[ClauseOptionNames],
) -> MatchRecognizeQuery:
    """Creates a query from one MATCH_RECOGNIZE clause.

    `df.transform(ost.match_recognize("PARTITION BY symbol ORDER BY ts MEASURES ... PATTERN (...) DEFINE ..."))` runs it
    on Spark, `ost.match(query, table)` in this process. `clause` may also be an `ost.pattern(...)`. `keys` and `time`
    are the columns of PARTITION BY and ORDER BY if the clause has none. `args` are the values of the parameters in the
    text: a dict for `:name`, a list for `?`. The options are those of `ost.sql`.

    >>> import ostinato as ost
    >>> import pyarrow as pa
    >>> dips = ost.match_recognize("MEASURES A.x AS x PATTERN (A) DEFINE A AS x < PREV(x)", time="ts")
    >>> ost.match(dips, pa.table({"ts": [1, 2, 3], "x": [5, 3, 4]})).to_pylist()
    [{'x': 3}]
    """
    known_names(options, ClauseOptionNames.__annotations__)
    if isinstance(clause, MatchRecognizeQuery):
        query = clause
    else:
        source = clause.to_sql() if isinstance(clause, PatternQuery) else clause
        query = MatchRecognizeQuery(source)
    given = default_columns(keys, time)
    defaults = DefaultColumns(given.keys or query.defaults.keys, given.time or query.defaults.time)
    parameters = query.parameters if args is None else Parameters.of(args)
    query = replace(query, defaults=defaults, options=query.options.changed(options), parameters=parameters)
    query.clause_query  # noqa: B018 - raises errors in the text before there is a table
    return query
