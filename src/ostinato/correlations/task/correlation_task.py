"""The task of a worker: both sides' plans, the columns of arriving rows, and the options of matching."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa

from ostinato.calls.options import one_of, true_or_false, whole_number
from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.query.clause import MatchMode
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.plan.correlation_plan import TimeColumns
from ostinato.expressions.syntax import Expr, MatchNumber, walk

if TYPE_CHECKING:
    from ostinato.clause.matching.match_engine import Task

StrategyChoice = Literal["auto", "eager", "live_first", "archive_first"]


@dataclass(frozen=True, slots=True)
class SideTask:
    """One clause, and the column names of its arriving rows."""

    typed: TypedPlan
    time_columns: TimeColumns
    key_types: tuple[pa.DataType, ...] = ()
    """The types of the PARTITION BY columns."""
    conditions: tuple[tuple[str, int], ...] = ()
    """The arriving column and bit of each row condition."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns that arrive under another name: the plan's name -> the arriving name."""

    def arriving(self, name: str) -> str:
        return self.columns.get(name, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the plan reads, with the plan's names."""
        bound = self.typed.plan.bound
        order = (key.column for key in bound.order_by)
        inputs = (item.name for item in self.typed.plan.inputs)
        return tuple(dict.fromkeys((*bound.partition_by, *order, *inputs)))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The columns of a match's row."""
        plan = self.typed.plan
        return (*plan.shown, *(slot_name(i) for i in range(len(plan.slots))))

    def column_type(self, name: str) -> pa.DataType:
        """The type of a PARTITION BY column."""
        return self.key_types[self.typed.plan.bound.partition_by.index(name)]

    def no_rows(self) -> pa.RecordBatch:
        """An empty batch with the arriving columns."""
        plan = self.typed.plan
        types = {item.name: self.typed.input_types[item.expr] for item in plan.inputs}
        types |= dict(zip(plan.bound.partition_by, self.key_types, strict=True))
        arrays = {self.arriving(name): pa.array([], types.get(name, self.time_columns.type)) for name in self.names}
        arrays |= {name: pa.array([], pa.int64()) for name, _ in self.conditions}
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    @property
    def rows_before(self) -> int:
        """Number of rows before a start that conditions and measures may read."""
        plan = self.typed.plan
        must_stay = self.reads_number or plan.nfa.at_start != plan.nfa.elsewhere
        return max(margins_of(plan).before, int(must_stay))

    @property
    def rows_after(self) -> int:
        """Number of rows that must follow a row before a match may use it."""
        plan = self.typed.plan
        waits_for_end = any(ACCEPT_AT_END in state.choices for state in plan.nfa.states)
        must_follow = waits_for_end and plan.bound.clause.mode is MatchMode.INCREMENTAL
        return max(margins_of(plan).after, int(must_follow))

    @property
    def reads_number(self) -> bool:
        """Whether the clause uses MATCH_NUMBER()."""
        return self.counts_in_define or _mentions_number(self.typed.plan.slots)

    @property
    def counts_in_define(self) -> bool:
        """Whether DEFINE uses MATCH_NUMBER()."""
        return _mentions_number(self.typed.plan.run_conditions)


def _mentions_number(exprs: Iterable[Expr]) -> bool:
    return any(isinstance(node, MatchNumber) for expr in exprs for node in walk(expr))


@dataclass(frozen=True, slots=True)
class CorrelationTask:
    """Both sides of a correlation."""

    live: SideTask
    archive: SideTask
    region: Region
    keys: tuple[tuple[str, str], ...]
    """PARTITION BY columns that are equal, as (live column, archive column), by the plans' names."""
    shared: bool = False
    """Whether the live table is its own archive."""
    has_history: bool = False
    """Whether the archive may hold rows older than the first that arrive."""
    equalities: tuple[tuple[int, int], ...] = ()
    """Slots of the live and the archive match that the join requires to be equal."""

    @property
    def live_is_incremental(self) -> bool:
        return self.live.typed.plan.bound.clause.mode is MatchMode.INCREMENTAL

    @property
    def archive_is_maximal(self) -> bool:
        return self.archive.typed.plan.bound.clause.mode is MatchMode.MAXIMAL

    @property
    def has_fixed_distances(self) -> bool:
        """Whether all live matches see the same rows behind an archive start. With intervals, they may not."""
        return self.region.kind != "rows" or not self.archive.time_columns.has_intervals

    def bounded(self, task: Task) -> Task:
        """The archive's task with matches limited to the size of the region. Longer ones join nothing."""
        size = int(self.region.size)
        if self.region.kind == "rows":
            return replace(task, max_length=size if task.max_length is None else min(task.max_length, size))
        return replace(task, within_us=size if task.within_us is None else min(task.within_us, size))

    def fingerprint(self) -> str:
        """Differs between queries whose states aren't interchangeable."""
        identity: list[object] = [self.region, self.keys, self.shared]
        for side in (self.live, self.archive):
            plan, settings = side.typed.plan, side.typed.settings
            inputs = [(item.name, str(side.typed.input_types[item.expr])) for item in plan.inputs]
            clause = render_clause(plan.bound.clause)
            identity += [clause, plan.shown, inputs, side.conditions, sorted(side.columns.items())]
            times = side.time_columns
            identity += [settings.ansi, settings.timezone, times.start, times.end, str(times.type)]
        return hashlib.sha256(repr(identity).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CorrelationOptions:
    """How a correlation is computed. No option changes the results."""

    strategy: StrategyChoice = "auto"
    cache: bool = True
    recent_rows: int | None = None
    """Number of rows of a key in the recent buffer; None: as many as regions need."""
    ordered: bool = True
    """Whether a result waits until no earlier one of its key can follow."""
    step_rows: int = 1 << 18
    """Rows that arrive together are matched in steps of about this many."""

    @property
    def searches_once(self) -> bool:
        """Whether no archive start is searched again, whichever strategy the planner chooses.

        Then the state lacks rows of searched starts. Options that search them again can't go on with it.
        """
        return self.cache or self.strategy in ("eager", "archive_first")

    def __post_init__(self) -> None:
        one_of("strategy", self.strategy, get_args(StrategyChoice))
        true_or_false("cache", self.cache)
        if self.recent_rows is not None:
            whole_number("recent_rows", self.recent_rows)
        true_or_false("ordered", self.ordered)
        whole_number("step_rows", self.step_rows)


DEFAULT_OPTIONS = CorrelationOptions()
