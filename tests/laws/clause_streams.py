"""Clauses of one stream fed by hand, without Spark: rows and watermarks in, the rows of every clause out."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.plan.clause_inputs import share_inputs
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_clauses import LocalClauses
from ostinato.rows.loss_report import Report
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.step import Step, fingerprint_of
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.plan.typed_clauses import TypedClauses, type_clauses
from ostinato.workloads.stream.clauses_stream import ClauseRows, ClauseStreamWorker


def names_of(texts: Sequence[str]) -> list[str]:
    return [f"q{number}" for number in range(1, len(texts) + 1)]


def typed_for_stream(local: LocalClauses, names: Sequence[str], bounded: bool = False) -> TypedClauses:
    """Types the clauses as a stream does, with sharing wherever it is possible."""
    shared = share_inputs([plan.plan for plan in local.plans])
    plans = [plan.typed for plan in local.plans]
    return type_clauses(shared, plans, names, (bounded,) * len(plans), "always", on_stream=True)


class ClauseStream:
    """Runs clauses over a stream step by step. Between steps it keeps only the serialised state."""

    def __init__(self, texts: Sequence[str], schema: pa.Schema, request: BoundRequest = UNBOUNDED) -> None:
        self.queries = [as_clause_query(text) for text in texts]
        names = names_of(texts)
        self.local = LocalClauses(self.queries, names, schema, Settings(), sharing="always")
        typed = typed_for_stream(self.local, names, not request.is_empty)
        task = ClausesTask(typed, tuple(names), request, MatchLimits())
        conditions = [(f"bit{number}", 0) for number in range(len(self.local.row_conditions))]
        self.worker = ClauseStreamWorker(
            pickle.loads(pickle.dumps(task)), conditions, fingerprint=fingerprint_of(texts)
        )
        self.state = EMPTY
        self.steps: list[Step[ClauseRows]] = []
        self.tables: list[list[pa.Table]] = [[] for _ in texts]
        """By clause: one table of results for each step."""

    def step(self, table: pa.Table | None, watermark_us: int, *, finished: bool = False) -> None:
        """Processes the rows of `table`, then moves the watermark to `watermark_us`."""
        state = BucketState(bytes(self.state.header), tuple(self.state.open_rows), tuple(self.state.waiting))
        arrived = None if table is None else self._shipped(table)
        step = self.worker.advance(state, arrived, watermark_us, finished=finished)
        self.state = step.state
        self.steps.append(step)
        for query, plan, rows, tables in zip(
            self.queries, self.local.plans, step.results.rows, self.tables, strict=False
        ):
            tables.append(query.select(plan.measured(rows), Settings()))

    def feed(self, steps: Sequence[tuple[pa.Table, int]]) -> None:
        """Processes tables with their watermarks, then the end of the stream."""
        for rows, watermark_us in steps:
            self.step(rows, watermark_us)
        self.step(None, NO_TIME, finished=True)

    @property
    def reports(self) -> list[Report]:
        return [report for step in self.steps for report in step.results.reports]

    @property
    def late_rows(self) -> int:
        return sum(step.counts.late_rows for step in self.steps)

    def _shipped(self, table: pa.Table) -> pa.Table:
        """The columns that a Spark plan would ship, and the row conditions as bits of columns."""
        batch = self.local.batch(table)
        bits = {f"bit{number}": pa.array(mask.astype(np.int64)) for number, mask in enumerate(batch.row_masks)}
        return pa.table({**batch.arrays, **bits})
