"""`ost.correlate`: live matches joined with archive matches from shortly before, in this process or on Spark."""

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
from ostinato.correlations.strategies.cost_model import Choice, Factors
from ostinato.correlations.strategies.planner_report import run_text
from ostinato.correlations.strategies.strategies import Strategy, StrategyName
from ostinato.correlations.task.correlation_state import NEW, Totals
from ostinato.correlations.task.correlation_steps import StepRows, in_steps
from ostinato.correlations.task.correlation_task import AS_IT_FITS, CorrelationOptions, StrategyChoice
from ostinato.correlations.task.correlation_worker import Advanced, Correlator, SharedLive
from ostinato.correlations.task.step_planner import Thought, declined_strategies
from ostinato.errors import QueryError, speaking_of
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import local_settings
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.local.table_archive import ArchiveReader, TableReader
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe, spark_dataframe


@dataclass(frozen=True, slots=True)
class CorrelationStatistics:
    """What a correlation met and what it cost; with the factors of the cost model, as measured."""

    totals: Totals
    strategy: StrategyName
    """The one that ran last."""
    cache: bool
    reason: str
    """Why it was chosen."""
    factors: Factors | None
    costs: Mapping[Choice, float] | None
    """What each strategy would cost, in seconds for `factors.rows` rows."""
    declined: Mapping[str, str]
    """Strategies that can't run the query, and why."""

    @property
    def buffered_rows(self) -> int:
        """The most rows of the archive that had to stay at hand between two steps."""
        return self.totals.most_buffered_rows

    @property
    def cached_entries(self) -> int:
        """The most archive matches that were remembered between two steps."""
        return self.totals.most_cached_entries


@dataclass(frozen=True, slots=True)
class CorrelationResult:
    """What a correlation gave, and what it cost."""

    table: pa.Table
    """In each key ordered by correlation_start and correlation_end."""
    statistics: CorrelationStatistics

    def explain(self) -> str:
        """What ran and why, with the numbers."""
        ran = self.statistics
        memory = ran.buffered_rows, ran.cached_entries
        return run_text(Choice(ran.strategy, ran.cache), ran.reason, ran.factors, ran.costs, ran.declined, memory)


@dataclass(frozen=True, slots=True)
class CorrelationQuery:
    """Correlations with their inputs; `run` answers them once, `start` for as long as live rows come."""

    texts: Mapping[str, str]
    live: Any
    archive: Any
    options: CorrelationOptions
    limits: Limits
    settings: Settings
    delay: str | int | None = None
    single: bool = True
    """Whether one query was asked, not several by name."""
    comparator: Strategy | None = None
    """A strategy that runs in this process in place of the product's. Benchmarks compare with it."""

    @only_our_errors()
    def run(self, *, deadline: Duration | None = None) -> Any:
        """A CorrelationResult, on Spark a DataFrame; for several queries a dict of those by name.

        In this process a run that takes longer than `deadline` ("10 seconds") raises DEADLINE_PASSED.
        """
        found: Mapping[str, Any]
        if is_spark_dataframe(self.live):
            refuse_deadline(deadline)
            found = self._on_spark()
        else:
            found = interruptible(self._in_process, deadline)
        return next(iter(found.values())) if self.single else found

    @only_our_errors()
    def start(
        self,
        *,
        output: str | Callable[[Any, int], None],
        checkpoint: str,
        trigger: Mapping[str, Any] | str | None = None,
        **options: Any,
    ) -> Any:
        """Runs on a streaming DataFrame until it is stopped; gives Spark's StreamingQuery.

        `output`: a folder, in which each batch overwrites its own part, or a function of a DataFrame and the batch's
        number. `trigger` is what Spark's own takes, or how often a batch is due. `options` are those of
        docs/correlation.md: write_archive, buckets, reads.
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
        """What the end of input gives of a stopped stream, as a DataFrame."""
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
        asked = {
            name: LocalCorrelation(text, live.schema, schema, self.settings, self.limits)
            for name, text in self.texts.items()
        }
        shared = _shared_live(list(asked.values()))
        return {name: self._answer(self.texts[name], one, live, archive, shared) for name, one in asked.items()}

    def _answer(
        self, text: str, asked: LocalCorrelation, live: pa.Table, archive: pa.Table | None, shared: SharedLive | None
    ) -> CorrelationResult:
        with speaking_of(text):
            correlator = Correlator(asked.task, self.options, shared, comparator=self.comparator)
            rows = asked.live_rows(live)
            others = None if archive is None else asked.archive_rows(archive)
            if self.options.recent_rows is None or shared is not None:
                done = correlator.run(NEW, rows, others, 0, finished=True)
            else:
                reader = TableReader(asked.task, rows if others is None else others)
                done = _with_small_buffer(correlator, rows, others, reader)
            statistics = _statistics(done.state.totals, done.thought, declined_strategies(asked.task))
            return CorrelationResult(asked.selected_of(done.results), statistics)


def _shared_live(asked: Sequence[LocalCorrelation]) -> SharedLive | None:
    """For several correlations with one live clause, which is matched once for all."""
    clauses = [one.plan.correlation.live for one in asked]
    return SharedLive() if len(asked) > 1 and all(clause == clauses[0] for clause in clauses) else None


def _with_small_buffer(
    correlator: Correlator, live: pa.Table, archive: pa.Table | None, reader: ArchiveReader
) -> Advanced:
    """In steps, as a stream would: what a step wants is read, and the step is done again with it."""
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


def _statistics(totals: Totals, thought: Thought, declined: Mapping[str, str]) -> CorrelationStatistics:
    decision = thought.decision
    return CorrelationStatistics(
        totals=totals,
        strategy=decision.choice.strategy,
        cache=decision.choice.cache,
        reason=decision.reason,
        factors=thought.factors,
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
    """Live matches joined with what the archive held shortly before each of them (DejaVu, 2011).

    `query` is the text of a join of two MATCH_RECOGNIZE clauses with `RECENT(archive, live, distance)`; a list of such
    texts, or a dict by name, is answered together, and a live clause that they share is matched once. `live` and
    `archive` are pyarrow Tables, pandas DataFrames or record batches, or Spark DataFrames; without `archive` the live
    rows are their own. `strategy` is "auto", "eager", "live_first" or "archive_first". Without `cache`
    the side that is looked into is searched again every time. None of these changes the rows.

    `recent_rows` bounds the rows of a key that stay at hand; what a region needs beyond it is read from the archive.
    `delay` is for streams: how late rows may come. `ordered=False` gives results as soon as they are known.
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
