"""Text of a correlation + Arrow tables -> its results, in this process. Expressions are the evaluator's subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.plan.clause_inputs import share_inputs
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import Limits, check_condition
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START
from ostinato.correlations.language.correlation_parser import ParsedCorrelation, read_correlation
from ostinato.correlations.plan.correlation_names import ARCHIVE, LIVE
from ostinato.correlations.plan.correlation_plan import CorrelationPlan, TimeColumns, clocks_of, plan_correlation
from ostinato.correlations.task.correlation_results import output_fields
from ostinato.correlations.task.correlation_task import CorrelationTask, SideTask
from ostinato.errors import QueryError, errors_quoting, in_statement
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import ColumnRef, Expr
from ostinato.expressions.types import Settings, normalise
from ostinato.rows.arrow_tables import columns_of
from ostinato.rows.batches import Mask, OutputRows, one_array
from ostinato.rows.packed_conditions import condition_places, packed_masks


@dataclass(frozen=True, slots=True)
class _Columns:
    """The expressions over single rows of one input, evaluated before matching."""

    plans: tuple[EvaluatedPlan, ...]

    def rows(self, table: pa.Table) -> pa.Table:
        """The table in the form that the worker reads: with computed inputs, and row conditions as bits."""
        columns = columns_of(table)
        arriving: dict[str, pa.Array] = {}
        masks: list[Mask] = []
        for plan in self.plans:
            batch = plan.batch(columns, table.num_rows)
            names = (*plan.plan.bound.partition_by, *(key.column for key in plan.plan.bound.order_by))
            arriving |= {name: batch.arrays[name] for name in (*names, *(item.name for item in plan.plan.inputs))}
            masks += list(batch.row_masks)
        return pa.table(arriving | packed_masks(masks, table.num_rows))

    def conditions(self, plan: int) -> tuple[tuple[str, int], ...]:
        """The column and the bit of each row condition of one of the plans."""
        first = sum(len(other.row_conditions) for other in self.plans[:plan])
        return tuple(condition_places(first + len(self.plans[plan].row_conditions))[first:])


class LocalCorrelation:
    """One correlation over tables of known columns."""

    def __init__(
        self, text: str, live: pa.Schema, archive: pa.Schema | None, settings: Settings, limits: Limits
    ) -> None:
        """`archive` is None where the live rows are their own archive."""
        self.query: ParsedCorrelation = read_correlation(text)
        self.settings = settings
        if archive is None and self.query.live_input.lower() != self.query.archive_input.lower():
            name = self.query.archive_input
            message = f"the archive side reads '{name}', and archive= isn't given"
            raise QueryError("INVALID_OPTION", message, hint=f"archive={name}, or name one table on both sides")
        others = live if archive is None else archive
        bodies = self.query.correlation.bodies
        with errors_quoting(text), in_statement(text, bodies):
            self.plan: CorrelationPlan = plan_correlation(
                self.query.correlation, live.names, others.names, case_sensitive=settings.case_sensitive
            )
            self.selected = self.plan.names.selected(self.query.items)
            plans: Sequence[MatchPlan] = (self.plan.live, self.plan.archive)
            if archive is None:
                plans = share_inputs(plans).plans
            self.live = EvaluatedPlan(plans[0], live, settings, limits)
            self.archive = EvaluatedPlan(plans[1], others, settings, limits)
            clocks = clocks_of(self.plan, _types(live, settings), _types(others, settings))
        one = _Columns((self.live, self.archive)) if archive is None else _Columns((self.live,))
        other = one if archive is None else _Columns((self.archive,))
        self._columns = (one, other)
        self.task = CorrelationTask(
            live=_side(self.live, clocks.live, one.conditions(0)),
            archive=_side(self.archive, clocks.archive, other.conditions(1 if archive is None else 0)),
            region=self.plan.correlation.region,
            keys=self.plan.keys,
            shared=archive is None,
            equalities=tuple((item.live_slot, item.archive_slot) for item in self.plan.equalities),
        )
        with errors_quoting(text), in_statement(text, bodies):  # type errors are raised before matching
            self.selected_of(output_fields(self.task).empty_table())

    def live_rows(self, table: pa.Table) -> pa.Table:
        """Live rows in the form that the worker reads; also those of an archive that is the same table."""
        return self._columns[0].rows(table)

    def archive_rows(self, table: pa.Table) -> pa.Table:
        return self._columns[1].rows(table)

    def selected_of(self, results: pa.Table) -> pa.Table:
        """The SELECT list over results of the worker for which the join predicate holds."""
        values: dict[tuple[str, ...], pa.Array] = {
            (name,): one_array(results.column(name)) for name in (CORRELATION_START, CORRELATION_END)
        }
        for side, plan in ((LIVE, self.live), (ARCHIVE, self.archive)):
            measured = plan.measured(_side_rows(results, side))
            values |= {(side, name): one_array(measured.column(name)) for name in measured.column_names}
        count = results.num_rows
        if self.plan.condition is not None:
            truth = evaluate(self.plan.condition, _leaf(values), count, self.settings)
            check_condition(truth.type, self.plan.condition.span)
            holds = pc.fill_null(truth.cast(pa.bool_()), False)
            values = {name: array.filter(holds) for name, array in values.items()}
            count = int(pc.sum(holds.cast(pa.int64())).as_py() or 0)
        columns = [evaluate(expr, _leaf(values), count, self.settings) for _, expr in self.selected]
        return pa.table(columns, names=[name for name, _ in self.selected])


def _side(plan: EvaluatedPlan, clock: TimeColumns, conditions: tuple[tuple[str, int], ...]) -> SideTask:
    types = tuple(plan.types[name] for name in plan.plan.bound.partition_by)
    return SideTask(plan.typed, clock, types, conditions)


def _types(schema: pa.Schema, settings: Settings) -> Callable[[str], pa.DataType]:
    return lambda name: normalise(schema.field(name).type, settings)


def _side_rows(results: pa.Table, side: str) -> OutputRows:
    prefix = f"{side}."
    arrays = {
        name.removeprefix(prefix): one_array(results.column(name))
        for name in results.column_names
        if name.startswith(prefix)
    }
    return OutputRows(results.num_rows, arrays)


def _leaf(values: Mapping[tuple[str, ...], pa.Array]) -> Callable[[Expr], Any]:
    def leaf(node: Expr) -> pa.Array | None:
        return values.get(tuple(name.text for name in node.parts)) if isinstance(node, ColumnRef) else None

    return leaf
