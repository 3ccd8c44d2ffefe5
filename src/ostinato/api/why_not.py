"""`ost.why_not`: how far each start row came, and the conditions that refused the next row.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> trades = pa.table({"ts": [1, 2, 3], "price": [10.0, 8.0, 7.0]})
>>> dips = (
...     "ORDER BY ts MEASURES LAST(UP.price) AS up PATTERN (START DOWN+ UP) "
...     "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"
... )
>>> print(ost.why_not(dips, trades).summary)
of 3 start rows, 0 start a match, 3 start none
row 0 (ts = 1): 3 rows as START DOWN{2}, then the rows end
  no row is left for DOWN or UP
  nearest miss, at row 2 (ts = 3):
    UP: price > PREV(price) is FALSE: price = 7.0, PREV(price) = 8.0
  a match needs at least 1 more row
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.api.any_query import QuerySource, as_query
from ostinato.api.clause_builder import PatternQuery
from ostinato.api.clauses import MatchRecognizeQuery
from ostinato.api.query import ColumnNames
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible
from ostinato.calls.options import whole_number
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.clause.attempts.attempt import Attempt
from ostinato.clause.attempts.attempt_engine import AttemptOptions
from ostinato.errors import QueryError
from ostinato.explanation.attempts_picture import attempts_picture
from ostinato.explanation.attempts_table import reasons_table, starts_table
from ostinato.explanation.attempts_text import NamedRows, attempts_summary, attempts_text
from ostinato.explanation.pattern_words import FunnelWords
from ostinato.explanation.readable import readable_text
from ostinato.expressions.types import Settings
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_clause import ORDER_COLUMN
from ostinato.local.key_rows import Key
from ostinato.local.local_attempts import AttemptedKey, Positions, clause_attempts, funnel_attempts
from ostinato.local.local_settings import local_settings
from ostinato.pictures.html_blocks import svg_block
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.rows.table_kinds import TableLike


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot:
    """The attempts of one key. `str` and notebooks show the text; `summary` is the best attempt in a few lines."""

    key: Mapping[str, object]
    """The values of the key columns."""
    attempts: tuple[Attempt, ...]
    """The attempts that came furthest, the furthest first; the earlier of equals."""
    starts: pa.Table
    """A row for each start row: its outcome, the number of the match, the rows consumed and possible."""
    table: pa.Table
    """A row for each reason of `attempts`: each part of a condition that isn't TRUE, with the values that it reads."""
    complete: bool
    """Whether the search tried everything. If not, some attempts may come further."""
    trials: int | None
    """The partial matches that were tried. None: no condition reads the run, and one pass over the rows was exact."""
    summary: str
    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return short_repr(self, self.summary)

    def _repr_html_(self) -> str:
        return svg_block(self.svg) + text_block(self.text)


@only_our_errors()
def why_not(
    query: QuerySource,
    table: TableLike,
    *,
    key: Key = None,
    rows: Positions = None,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    max_attempts: int = 10,
    max_trials: int | None = None,
    ansi: bool = True,
    timezone: str = "UTC",
    deadline: Duration | None = None,
) -> WhyNot:
    """Tells for each start row of one key how far it came, and why the next row was refused.

    `query` is a clause in any form that `ost.match` takes, or a funnel. `table` is a table as for `ost.match`. `key`
    chooses the key: a dict of key columns, or the value of the only key column; a table with one key needs none.
    `rows` are positions of start rows in the order of the key, from 0 on: a number, a range, a slice or a list.

    The result has the `max_attempts` attempts that came furthest. Conditions over a row and its neighbours are exact at
    any size. If a condition reads the rows matched so far, the search tries at most `max_trials` partial matches from
    one row, and thirty times as many in all; `complete` says whether that was enough. docs/why-not.md has the details.

    >>> trades = pa.table({"ts": [1, 2, 3], "price": [10, 8, 9], "volume": [5, 1, 1]})
    >>> clause = (
    ...     "ORDER BY ts MEASURES LAST(price) AS p PATTERN (TOP DIP BACK) "
    ...     "DEFINE TOP AS volume > 3, DIP AS price < PREV(price), BACK AS price >= TOP.price"
    ... )
    >>> print(why_not(clause, trades, rows=0))
    of 1 start row, 0 start a match, 1 starts none
    <BLANKLINE>
    row 0 (ts = 1): 2 rows as TOP DIP, then row 2 (ts = 3) is refused
      BACK: price >= TOP.price is FALSE: price = 9, TOP.price = 10
      a match needs at least 1 more row
    """
    settings = local_settings(ansi, timezone)
    trials = None if max_trials is None else whole_number("max_trials", max_trials)
    wording = readable_text if isinstance(query, Funnel | PatternQuery) else None
    options = AttemptOptions(whole_number("max_attempts", max_attempts, most=10_000), trials, wording)
    ready = as_query(query, keys=keys, time=time)
    if is_spark_dataframe(table):
        hint = "filter one key and read it into this process: table.where(\"symbol = 'ACME'\").toArrow()"
        raise QueryError("NOT_A_TABLE", "this is a Spark DataFrame, and why_not runs in this process", hint=hint)

    def work() -> WhyNot:
        if isinstance(ready, Funnel):
            return _funnel(ready, table, key, rows, options, settings)
        if isinstance(ready, MatchRecognizeQuery):
            chosen = ready.local_options()
            if chosen.stream.on_error != "fail":
                hint = "leave it out: the error of a row then ends the call, and names the row"
                raise QueryError("WHY_NOT_UNSUPPORTED", "why_not can't leave out rows (on_error=)", hint=hint)
            clause = ready.clause_query.clause
            found = clause_attempts(
                clause, table, key=key, rows=rows, options=options, settings=settings, limits=chosen.limits
            )
            return _result(found, NamedRows(found.rows, _order(found), found.key))
        raise _refused(ready)

    return interruptible(work, deadline)


def _funnel(
    funnel: Funnel, table: Any, key: Key, rows: Positions, options: AttemptOptions, settings: Settings
) -> WhyNot:
    found = funnel_attempts(funnel, table, key=key, rows=rows, options=options, settings=settings)
    hidden = frozenset({ORDER_COLUMN})
    return _result(found, NamedRows(found.rows, _order(found), found.key, FunnelWords(funnel), hidden))


def _order(found: AttemptedKey) -> tuple[str, ...]:
    return tuple(key.column for key in found.bound.order_by)


def _result(found: AttemptedKey, rows: NamedRows) -> WhyNot:
    attempts = found.attempts
    return WhyNot(
        key=found.key,
        attempts=attempts.attempts,
        starts=starts_table(attempts, rows),
        table=reasons_table(attempts, rows),
        complete=attempts.complete,
        trials=attempts.trials,
        summary=attempts_summary(attempts, rows),
        text=attempts_text(attempts, rows, lists_starts=not found.all_starts),
        svg=attempts_picture(attempts, rows),
    )


def _refused(query: object) -> QueryError:
    # Imported here: clauses and funnels don't need these.
    from ostinato.api.correlations import CorrelationQuery
    from ostinato.api.paths import PathsQuery
    from ostinato.event_queries.event_request import EventRequest
    from ostinato.summaries.summary_request import SummaryRequest
    from ostinato.workloads.workload_request import WorkloadRequest

    kinds: dict[type, str] = {
        EventRequest: "an event query",
        WorkloadRequest: "a workload",
        SummaryRequest: "a summary of a stream",
        CorrelationQuery: "a correlation",
        PathsQuery: "a path query",
    }
    words = next((words for kind, words in kinds.items() if isinstance(query, kind)), "a query of another kind")
    return QueryError(
        "WHY_NOT_UNSUPPORTED",
        f"why_not explains MATCH_RECOGNIZE clauses and funnels, and this is {words}",
        hint="write the pattern as a clause; ost.explain(query) describes a query of any kind",
    )
