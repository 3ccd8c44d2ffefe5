"""What a worker needs to know of a correlation: both sides' plans, how rows arrive, how they are to be matched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import pyarrow as pa

from ostinato.calls.options import one_of, true_or_false, whole_number
from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.matching.growths import ProbeMode
from ostinato.clause.matching.match_engine import Task
from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.query.clause import MatchMode
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.plan.correlation_plan import Clock
from ostinato.correlations.strategies.step_matches import Modes
from ostinato.expressions.syntax import Expr, MatchNumber, walk

StrategyChoice = Literal["auto", "eager", "live_first", "archive_first"]


@dataclass(frozen=True, slots=True)
class SideTask:
    """One clause, and under which names its rows arrive."""

    typed: TypedPlan
    clock: Clock
    key_types: tuple[pa.DataType, ...] = ()
    """The types of the PARTITION BY columns."""
    conditions: tuple[tuple[str, int], ...] = ()
    """In which arriving column and bit each row condition is."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The plan's names of columns that arrive under another one."""

    def arriving(self, name: str) -> str:
        return self.columns.get(name, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the plan reads, by its own names."""
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
        """The type of a column that is shown."""
        return self.key_types[self.typed.plan.bound.partition_by.index(name)]

    def no_rows(self) -> pa.RecordBatch:
        """The columns as they arrive, without rows."""
        plan = self.typed.plan
        types = {item.name: self.typed.input_types[item.expr] for item in plan.inputs}
        types |= dict(zip(plan.bound.partition_by, self.key_types, strict=True))
        arrays = {self.arriving(name): pa.array([], types.get(name, self.clock.type)) for name in self.names}
        arrays |= {name: pa.array([], pa.int64()) for name, _ in self.conditions}
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    @property
    def rows_before(self) -> int:
        """How many rows in front of a start may be read."""
        plan = self.typed.plan
        must_stay = self.reads_number or plan.nfa.at_start != plan.nfa.elsewhere
        return max(margins_of(plan).before, int(must_stay))

    @property
    def rows_after(self) -> int:
        """How many rows must have come behind a row before it may be in a match."""
        plan = self.typed.plan
        waits_for_end = any(ACCEPT_AT_END in state.choices for state in plan.nfa.states)
        must_follow = waits_for_end and plan.bound.clause.mode is MatchMode.INCREMENTAL
        return max(margins_of(plan).after, int(must_follow))

    @property
    def reads_number(self) -> bool:
        """Whether MATCH_NUMBER() is asked for."""
        return self.counts_in_define or _mentions_number(self.typed.plan.slots)

    @property
    def counts_in_define(self) -> bool:
        """Whether MATCH_NUMBER() decides what is a match."""
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
    """Whether the live rows are the archive's rows too."""
    has_history: bool = False
    """Whether the archive may hold rows older than the first that arrive."""
    equalities: tuple[tuple[int, int], ...] = ()
    """Slots of the live and of the archive match that the join asks to be equal."""

    @property
    def modes(self) -> Modes:
        incremental = self.live.typed.plan.bound.clause.mode is MatchMode.INCREMENTAL
        maximal = self.archive.typed.plan.bound.clause.mode is MatchMode.MAXIMAL
        return Modes(
            live=ProbeMode.INCREMENTAL if incremental else ProbeMode.CHAINED,
            growing=ProbeMode.GROWING if maximal else ProbeMode.RECORDS,
            as_of=ProbeMode.MAXIMAL if maximal else ProbeMode.PREFERRED,
        )

    @property
    def has_fixed_distances(self) -> bool:
        """Whether a start is equally far from the archive's end for all: events that last hide one another in turn."""
        return self.region.kind != "rows" or not self.archive.clock.has_intervals

    def bounded(self, task: Task) -> Task:
        """The archive's task with matches cut where the region ends: later ends join nothing."""
        size = int(self.region.size)
        if self.region.kind == "rows":
            return replace(task, max_length=size if task.max_length is None else min(task.max_length, size))
        return replace(task, within_us=size if task.within_us is None else min(task.within_us, size))

    def fingerprint(self) -> str:
        """Tells apart queries whose states mean different things."""
        asked: list[object] = [self.region, self.keys, self.shared]
        for side in (self.live, self.archive):
            plan, settings = side.typed.plan, side.typed.settings
            inputs = [(item.name, str(side.typed.input_types[item.expr])) for item in plan.inputs]
            clause = render_clause(plan.bound.clause)
            asked += [clause, plan.shown, inputs, side.conditions, sorted(side.columns.items())]
            asked += [settings.ansi, settings.timezone, side.clock.start, side.clock.end, str(side.clock.type)]
        return hashlib.sha256(repr(asked).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CorrelationOptions:
    """How a correlation is computed; none of it changes the results."""

    strategy: StrategyChoice = "auto"
    cache: bool = True
    recent_rows: int | None = None
    """How many rows of a key the recent buffer holds; None: as many as regions need."""
    ordered: bool = True
    """Whether results wait until no earlier one of their key can come."""
    step_rows: int = 1 << 18
    """Many rows that come at once are matched in steps of about so many."""

    def __post_init__(self) -> None:
        one_of("strategy", self.strategy, get_args(StrategyChoice))
        true_or_false("cache", self.cache)
        if self.recent_rows is not None:
            whole_number("recent_rows", self.recent_rows)
        true_or_false("ordered", self.ordered)
        whole_number("step_rows", self.step_rows)


AS_IT_FITS = CorrelationOptions()
