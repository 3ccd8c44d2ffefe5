"""`ost.match`: any query over a table in this process, no JVM."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.api.events import EventsQuery, events
from ostinato.api.workloads import Workload
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_builder import EventBuilder
from ostinato.expressions import types as t
from ostinato.local.local_clause import match_table
from ostinato.local.local_settings import local_settings
from ostinato.slices.slice_threads import Parallel


@only_our_errors()
def match(
    query: Any,
    table: Any,
    *,
    max_partial_matches: int = Limits().max_partial_matches,
    workers: int = 1,
    slice_rows: int | None = None,
    ansi: bool = True,
    timezone: str = "UTC",
    deadline: Duration | None = None,
) -> pa.Table:
    """Returns the matches of a query in a table. Runs in this process.

    `query` is the text of a clause (with or without `MATCH_RECOGNIZE ( ... )` around it, or as
    `SELECT ... FROM name MATCH_RECOGNIZE ( ... )`), an `ost.pattern(...)`, or a parsed clause. `table` is a pyarrow
    Table, a pandas or Polars DataFrame or record batches. Expressions may use the functions of docs/reference.md.
    `query` may also be an `ost.events(...)`. Set its options with `with_options`, not here.

    With `workers` above 1, that many threads match slices of `slice_rows` rows. Slices may divide a partition. The
    result stays the same. Without `slice_rows`, one thread matches if more threads would gain nothing. With a
    `deadline` ("10 seconds"), a call that takes longer raises DEADLINE_PASSED.
    """
    settings, limits = local_settings(ansi, timezone), Limits(max_partial_matches)
    parallel = Parallel(workers, slice_rows)
    return interruptible(lambda: _match(query, table, settings, limits, parallel), deadline)


def _match(query: Any, table: Any, settings: t.Settings, limits: Limits, parallel: Parallel) -> pa.Table:
    if isinstance(query, EventBuilder):
        query = events(query)
    if isinstance(query, EventsQuery):
        from ostinato.local.local_events import match_events  # takes 0.3 s, which clauses don't need

        if (limits, parallel) != (Limits(), Parallel()):
            hint = "query.with_options(max_partial_matches=...); event queries aren't cut into slices"
            raise QueryError("INVALID_OPTION", "an event query has options of its own", hint=hint)
        return match_events(query, table, settings)
    if isinstance(query, Workload):
        raise QueryError("NOT_A_QUERY", "a workload runs by itself", hint="workload.run(table)")
    clause_query = as_clause_query(query)
    matches = match_table(clause_query.clause, table, settings=settings, limits=limits, parallel=parallel)
    return clause_query.select(matches, settings)
