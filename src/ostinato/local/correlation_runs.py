"""Texts of correlations + tables -> their results and statistics, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.strategies.cost_model import Factors, PlannerChoice, StrategyName
from ostinato.correlations.strategies.planner_report import run_text
from ostinato.correlations.strategies.strategies import Strategy
from ostinato.correlations.task.archive_reader import ArchiveReader, TableReader
from ostinato.correlations.task.correlation_state import NEW
from ostinato.correlations.task.correlation_steps import StepRows, in_steps
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.correlations.task.correlation_worker import AdvancedStep, Correlator, SharedLive
from ostinato.correlations.task.run_counts import RunTotals, run_table
from ostinato.correlations.task.step_planner import PlannerState, declined_strategies
from ostinato.errors import errors_quoting
from ostinato.expressions.types import Settings
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.rows.arrow_tables import as_table


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
    costs: Mapping[PlannerChoice, float] | None
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

    def text(self) -> str:
        """The strategy that ran, the reason, and the measured numbers."""
        memory = self.buffered_rows, self.cached_entries
        choice = PlannerChoice(self.strategy, self.cache)
        return run_text(choice, self.reason, self.factors, self.costs, self.declined, memory)

    def table(self, query: str) -> pa.Table:
        """The strategy and the counts of the run, as one row."""
        return run_table(query, self.strategy, self.cache, self.reason, self.totals)


@dataclass(frozen=True, slots=True)
class CorrelationRows:
    """The rows of a correlation, and its statistics."""

    table: pa.Table
    """Within each key, rows are ordered by correlation_start and correlation_end."""
    statistics: CorrelationStatistics


@dataclass(frozen=True, slots=True)
class CorrelationRun:
    """The options of a run."""

    options: CorrelationOptions
    limits: Limits
    settings: Settings
    comparator: Strategy | None = None
    """A strategy that runs in place of the product's. Benchmarks compare with it."""

    def results(self, texts: Mapping[str, str], live: Any, archive: Any) -> dict[str, CorrelationRows]:
        """The results by name. Without an archive, the live rows are their own."""
        live_table = as_table(live, self.settings)
        archive_table = None if archive is None or archive is live else as_table(archive, self.settings)
        schema = None if archive_table is None else archive_table.schema
        correlations = {
            name: LocalCorrelation(text, live_table.schema, schema, self.settings, self.limits)
            for name, text in texts.items()
        }
        shared = _shared_live(list(correlations.values()))
        return {
            name: self._result(texts[name], correlation, live_table, archive_table, shared)
            for name, correlation in correlations.items()
        }

    def _result(
        self,
        text: str,
        correlation: LocalCorrelation,
        live: pa.Table,
        archive: pa.Table | None,
        shared: SharedLive | None,
    ) -> CorrelationRows:
        with errors_quoting(text):
            correlator = Correlator(correlation.task, self.options, shared, comparator=self.comparator)
            live_rows = correlation.live_rows(live)
            archive_rows = None if archive is None else correlation.archive_rows(archive)
            if self.options.recent_rows is None or shared is not None:
                last_step = correlator.run(NEW, live_rows, archive_rows, 0, finished=True)
            else:
                reader = TableReader(correlation.task, live_rows if archive_rows is None else archive_rows)
                last_step = _with_small_buffer(correlator, live_rows, archive_rows, reader)
            declined = declined_strategies(correlation.task)
            statistics = _statistics(last_step.state.totals, last_step.planner_state, declined)
            return CorrelationRows(correlation.selected_of(last_step.results), statistics)


def _shared_live(correlations: Sequence[LocalCorrelation]) -> SharedLive | None:
    """For several correlations with the same live clause, which is matched once; else None."""
    clauses = [one.plan.correlation.live for one in correlations]
    return SharedLive() if len(correlations) > 1 and all(clause == clauses[0] for clause in clauses) else None


def _with_small_buffer(
    correlator: Correlator, live: pa.Table, archive: pa.Table | None, reader: ArchiveReader
) -> AdvancedStep:
    """Runs in steps, like a stream. If a step wants rows, they are read and the step runs again with them."""
    workers, step_rows = (correlator.live, correlator.archive), correlator.options.step_rows
    state, results, step = NEW, [], None
    for rows in in_steps(workers, StepRows(live, archive, 0, True), step_rows):
        step = correlator.step(state, rows)
        if step.wanted.num_rows:
            step = correlator.step(state, rows, reader.read(step.wanted))
        state = step.state
        results.append(step.results)
    assert step is not None
    return step._replace(results=pa.concat_tables(results))


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
