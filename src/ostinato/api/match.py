"""`ost.match`: any query over a table in this process, no JVM."""

from __future__ import annotations

from typing import TypeVar

from ostinato.api.any_query import QuerySource, as_query
from ostinato.api.query import ColumnNames, LocalCall
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.workload_options import Numbers
from ostinato.expressions.parameters import Args
from ostinato.local.local_settings import local_settings
from ostinato.rows.table_kinds import TableLike, like
from ostinato.slices.slice_threads import Parallel
from ostinato.streams.stream_settings import OnError

T = TypeVar("T", bound=TableLike)


@only_our_errors()
def match(
    query: QuerySource,
    table: T,
    *,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    type: TypeArgument = None,
    args: Args = None,
    max_partial_matches: int | None = None,
    max_matches: int | None = None,
    numbers: Numbers | None = None,
    approximate: bool | None = None,
    match_id: str | None = None,
    run_id: str | None = None,
    workers: int = 1,
    slice_rows: int | None = None,
    on_error: OnError | None = None,
    ansi: bool = True,
    timezone: str = "UTC",
    deadline: Duration | None = None,
) -> T:
    """Returns the rows of a query over a table, in the same kind of table. Runs in this process.

    `query` is a query of any kind: the text of a clause (with or without `MATCH_RECOGNIZE ( ... )` around it, or as
    `SELECT ... FROM name MATCH_RECOGNIZE ( ... )`), a SELECT with row patterns in windows (docs/windows.md), the text
    of an event query, or an object such as `ost.pattern(...)`, `ost.events(...)` or `ost.Workload(...)`. `table` is a
    pyarrow Table, a pandas or Polars DataFrame, a DuckDB relation, or record batches. Expressions may use the functions
    of docs/reference.md.

    `keys`, `time` and `type` name the columns for clauses that the text leaves out (PARTITION BY or GROUP BY, ORDER BY
    or TIME, TYPE). `args` are the values of the parameters in a clause: a dict for `:name`, a list for `?`.
    `max_partial_matches` limits the search. `max_matches`, `numbers` and `approximate` are options of event queries:
    see `ost.events`. `match_id` and `run_id` name columns to add, with ids that a match keeps in every run of the
    query.

    With `workers` above 1, that many threads match slices of `slice_rows` rows. Slices may divide a partition. The
    result stays the same. Without `slice_rows`, one thread matches if more threads would gain nothing. With
    `on_error="skip"`, a row for which an expression of a clause fails doesn't end the call: it leaves as an output row
    with the error in a column `error`, and one thread matches the other rows (docs/streaming.md). With a
    `deadline` ("10 seconds"), a call that takes longer raises DEADLINE_PASSED.

    >>> import pyarrow as pa
    >>> clicks = pa.table({"ts": [1, 2, 3], "page": ["home", "cart", "pay"]})
    >>> match("PATTERN SEQ(home, pay) RETURN COUNT(*) AS n", clicks, type="page", time="ts").to_pylist()
    [{'n': Decimal('1')}]
    """
    call = LocalCall(local_settings(ansi, timezone), Parallel(workers, slice_rows), on_error)
    options = {
        "max_partial_matches": max_partial_matches,
        "max_matches": max_matches,
        "numbers": numbers,
        "approximate": approximate,
        "match_id": match_id,
        "run_id": run_id,
    }
    given = {name: value for name, value in options.items() if value is not None}
    ready = as_query(query, keys=keys, time=time, type=type, args=args, **given)
    return like(table, interruptible(lambda: ready.in_process(table, call), deadline))
