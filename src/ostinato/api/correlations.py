"""`ost.correlate`: joins live matches with archive matches from shortly before, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import known_names
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.strategies.cost_model import Choice, Factors, StrategyName
from ostinato.correlations.strategies.planner_report import run_text
from ostinato.correlations.strategies.strategies import Strategy
from ostinato.correlations.task.correlation_state import NEW, RunTotals
from ostinato.correlations.task.correlation_steps import StepRows, in_steps
from ostinato.correlations.task.correlation_task import AS_IT_FITS, CorrelationOptions, StrategyChoice
from ostinato.correlations.task.correlation_worker import Advanced, Correlator, SharedLive
from ostinato.correlations.task.step_planner import PlannerState, declined_strategies
from ostinato.errors import QueryError, speaking_of
from ostinato.expressions.types import Settings
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.local.local_settings import local_settings
from ostinato.local.table_archive import ArchiveReader, TableReader
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe, spark_dataframe


@dataclass(frozen=True, slots=True)
class CorrelationStatistics:
    """Counts and costs of a run, with the measured factors of the cost model."""

    totals: RunTotals
    strategy: StrategyName
    """The strategy of the last step."""
    cache: bool
    reason: str
    """Why the planner chose it."""
    factors: Factors | None
    costs: Mapping[Choice, float] | None
    """Estimated cost of each strategy, in seconds for `factors.rows` rows."""
    declined: Mapping[str, str]
    """Strategies that can't run the query, with the reason."""

    @property
    def buffered_rows(self) -> int:
        """Largest number of archive rows in memory between two steps."""
        return self.totals.most_buffered_rows

    @property
    def cached_entries(self) -> int:
        """Largest number of archive matches in the result cache between two steps."""
        return self.totals.most_cached_entries


@dataclass(frozen=True, slots=True)
class CorrelationResult:
    """The rows of a correlation, and its statistics."""

    table: pa.Table
    """Within each key, rows are ordered by correlation_start and correlation_end."""
    statistics: CorrelationStatistics

    def explain(self) -> str:
        """The strategy that ran, the reason, and the measured numbers."""
        ran = self.statistics
        memory = ran.buffered_rows, ran.cached_entries
        return run_text(Choice(ran.strategy, ran.cache), ran.reason, ran.factors, ran.costs, ran.declined, memory)


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
    comparator: Strategy | None = None
    """A strategy that runs in this process in place of the product's. Benchmarks compare with it."""

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
        """The results that a stopped stream gives at end of input, as a DataFrame."""
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
        live = as_table(self.live, self.settings)
        same = self.archive is None or self.archive is self.live
        archive = None if same else as_table(self.archive, self.settings)
        schema = None if archive is None else archive.schema
        correlations = {
            name: LocalCorrelation(text, live.schema, schema, self.settings, self.limits)
            for name, text in self.texts.items()
        }
        shared = _shared_live(list(correlations.values()))
        return {name: self._answer(self.texts[name], one, live, archive, shared) for name, one in correlations.items()}

    def _answer(
        self,
        text: str,
        correlation: LocalCorrelation,
        live: pa.Table,
        archive: pa.Table | None,
        shared: SharedLive | None,
    ) -> CorrelationResult:
        with speaking_of(text):
            correlator = Correlator(correlation.task, self.options, shared, comparator=self.comparator)
            rows = correlation.live_rows(live)
            others = None if archive is None else correlation.archive_rows(archive)
            if self.options.recent_rows is None or shared is not None:
                done = correlator.run(NEW, rows, others, 0, finished=True)
            else:
                reader = TableReader(correlation.task, rows if others is None else others)
                done = _with_small_buffer(correlator, rows, others, reader)
            statistics = _statistics(done.state.totals, done.planner_state, declined_strategies(correlation.task))
            return CorrelationResult(correlation.selected_of(done.results), statistics)


def _shared_live(correlations: Sequence[LocalCorrelation]) -> SharedLive | None:
    """For several correlations with the same live clause, which is matched once; else None."""
    clauses = [one.plan.correlation.live for one in correlations]
    return SharedLive() if len(correlations) > 1 and all(clause == clauses[0] for clause in clauses) else None


def _with_small_buffer(
    correlator: Correlator, live: pa.Table, archive: pa.Table | None, reader: ArchiveReader
) -> Advanced:
    """Runs in steps, like a stream. If a step wants rows, they are read and the step runs again with them."""
    workers, step_rows = (correlator.live, correlator.archive), correlator.options.step_rows
    state, results, done = NEW, [], None
    for rows in in_steps(workers, StepRows(live, archive, 0, True), step_rows):
        done = correlator.step(state, rows)
        if done.wanted.num_rows:
            done = correlator.step(state, rows, reader.read(done.wanted))
        state = done.state
        results.append(done.results)
    assert done is not None
    return done._replace(results=pa.concat_tables(results))


def _statistics(totals: RunTotals, planner_state: PlannerState, declined: Mapping[str, str]) -> CorrelationStatistics:
    decision = planner_state.decision
    return CorrelationStatistics(
        totals=totals,
        strategy=decision.choice.strategy,
        cache=decision.choice.cache,
        reason=decision.reason,
        factors=planner_state.factors,
        costs=decision.costs,
        declined=declined,
    )


@only_our_errors()
def correlate(
    query: str | Sequence[str] | Mapping[str, str],
    *,
    live: Any,
    archive: Any = None,
    strategy: StrategyChoice = AS_IT_FITS.strategy,
    cache: bool = AS_IT_FITS.cache,
    recent_rows: int | None = None,
    delay: str | int | None = None,
    ordered: bool = AS_IT_FITS.ordered,
    max_partial_matches: int = Limits().max_partial_matches,
    ansi: bool = True,
    timezone: str = "UTC",
    step_rows: int = AS_IT_FITS.step_rows,
) -> CorrelationQuery:
    """Joins live matches with archive matches from shortly before each of them (DejaVu, 2011).

    `query` is the text of a join of two MATCH_RECOGNIZE clauses with `RECENT(archive, live, distance)`; a list of such
    texts, or a dict by name, is answered together. A live clause that they share is matched once. `live` and
    `archive` are pyarrow Tables, pandas DataFrames or record batches, or Spark DataFrames. Without `archive`, the live
    rows are their own archive. `strategy` is "auto", "eager", "live_first" or "archive_first". Without `cache`
    overlapping regions are searched again for each match. None of these options changes the rows.

    `recent_rows` limits the rows of a key in memory; other rows of a region are read from the archive. `delay` is the
    watermark delay of streams. `ordered=False` gives results as soon as they are known.
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
