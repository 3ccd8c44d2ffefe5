"""`ost.correlate`: joins live matches with earlier archive matches, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import known_names
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.correlation_task import DEFAULT_OPTIONS, CorrelationOptions, StrategyChoice
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.local.local_settings import local_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, spark_dataframe

if TYPE_CHECKING:
    from ostinato.local.correlation_runs import CorrelationResult


@dataclass(frozen=True, slots=True)
class CorrelationQuery:
    """Correlations with their inputs. `run` answers them once, `start` answers a stream."""

    texts: Mapping[str, str]
    live: Any
    archive: Any
    options: CorrelationOptions
    limits: Limits
    settings: Settings
    delay: str | int | None = None
    single: bool = True
    """Whether there is one query, not several by name."""

    @only_our_errors()
    def run(self, *, deadline: Duration | None = None) -> Any:
        """A CorrelationResult, or a DataFrame on Spark. Several queries give a dict by name.

        In this process a run that takes longer than `deadline` ("10 seconds") raises DEADLINE_PASSED.
        """
        results: Mapping[str, Any]
        if is_spark_dataframe(self.live):
            refuse_deadline(deadline)
            results = self._on_spark()
        else:
            results = interruptible(self._in_process, deadline)
        return next(iter(results.values())) if self.single else results

    @only_our_errors()
    def start(
        self,
        *,
        output: str | Callable[[Any, int], None],
        checkpoint: str,
        trigger: Mapping[str, Any] | str | None = None,
        **options: Any,
    ) -> Any:
        """Starts the correlation on a streaming DataFrame. Returns Spark's StreamingQuery.

        `output` is a folder, in which each batch overwrites its own sub-folder, or a function of a DataFrame and the
        batch number. `trigger` takes Spark's arguments, or an interval between batches. `options` (write_archive,
        buckets, reads) are described in docs/correlation.md.
        """
        spark_dataframe(self.live, hint="start() needs a streaming DataFrame; tables are answered by run()")
        if not self.single:
            raise QueryError("INVALID_ARGUMENTS", "a stream answers one correlation", hint="start each by itself")
        from ostinato.spark.correlations.correlation_stream import StreamTerms, start_correlation

        (text,) = self.texts.values()
        known_names(options, ("write_archive", "buckets", "reads"))
        terms = StreamTerms(archive=self.archive, delay=self.delay, options=self.options, limits=self.limits, **options)
        return start_correlation(text, self.live, terms, output=output, checkpoint=checkpoint, trigger=trigger)

    @only_our_errors()
    def finish(self, checkpoint: str) -> Any:
        """Returns the results that a stopped stream gives at end of input, as a DataFrame."""
        from ostinato.spark.correlations.correlation_finish import finish_correlation

        spark_dataframe(self.live, hint="finish() is for stopped streams; run() answers tables to their end")
        return finish_correlation(self.live.sparkSession, checkpoint, archive=self.archive)

    def _on_spark(self) -> dict[str, Any]:
        from ostinato.spark.correlations.correlation_query import correlate_dataframes

        return {
            name: correlate_dataframes(text, self.live, self.archive, self.options, self.limits)
            for name, text in self.texts.items()
        }

    def _in_process(self) -> dict[str, CorrelationResult]:
        from ostinato.local.correlation_runs import CorrelationRun  # loads kernels

        run = CorrelationRun(self.options, self.limits, self.settings)
        return run.results(self.texts, self.live, self.archive)


@only_our_errors()
def correlate(
    query: str | Sequence[str] | Mapping[str, str],
    *,
    live: Any,
    archive: Any = None,
    strategy: StrategyChoice = DEFAULT_OPTIONS.strategy,
    cache: bool = DEFAULT_OPTIONS.cache,
    recent_rows: int | None = None,
    delay: str | int | None = None,
    ordered: bool = DEFAULT_OPTIONS.ordered,
    max_partial_matches: int = Limits().max_partial_matches,
    ansi: bool = True,
    timezone: str = "UTC",
    step_rows: int = DEFAULT_OPTIONS.step_rows,
) -> CorrelationQuery:
    """Joins each live match with archive matches from the time shortly before it (DejaVu, 2011).

    `query` is the text of a join of two MATCH_RECOGNIZE clauses with `RECENT(archive, live, distance)`; a list of such
    texts, or a dict by name, is answered together. A live clause that they share is matched once. `live` and
    `archive` are pyarrow Tables, pandas DataFrames or record batches, or Spark DataFrames. Without `archive`, the live
    rows are their own archive. `strategy` is "auto", "eager", "live_first" or "archive_first". Without `cache`
    overlapping regions are searched again for each match. None of these options changes the rows.

    `recent_rows` limits the rows of a key in memory; other rows of a region are read from the archive. `delay` is the
    watermark delay of streams. With `ordered=False`, a result comes as soon as it is final, whatever its order.
    """
    return CorrelationQuery(
        texts=_by_name(query),
        live=live,
        archive=archive,
        options=CorrelationOptions(strategy, cache, recent_rows, ordered, step_rows),
        limits=Limits(max_partial_matches),
        settings=local_settings(ansi, timezone),
        delay=delay,
        single=isinstance(query, str),
    )


def _by_name(query: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(query, str):
        return {"query": query}
    if isinstance(query, Mapping):
        texts = dict(query)
    elif isinstance(query, Sequence):
        texts = {f"query{i + 1}": text for i, text in enumerate(query)}
    else:
        raise QueryError("NOT_A_QUERY", f"expected the text of a correlation, got {type(query).__name__}")
    wrong = [type(text).__name__ for text in texts.values() if not isinstance(text, str)]
    if wrong or not texts:
        raise QueryError("NOT_A_QUERY", f"expected the texts of correlations, got {wrong[0] if wrong else 'none'}")
    return texts
