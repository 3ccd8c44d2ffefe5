"""Correlation + the columns of both inputs -> CorrelationPlan: two plans, resolved names, equalities for an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.match_plan import MatchPlan, make_plan, slot_name
from ostinato.correlations.language.correlation import Correlation
from ostinato.correlations.plan.correlation_names import ARCHIVE, LIVE, PairNames
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Operator


@dataclass(frozen=True, slots=True)
class Equality:
    """`live.measure = archive.measure`, where both measures are plain values of the match.

    The join can use it before measures are computed. Slots are indices into each plan's `slots`.
    """

    live: str
    archive: str
    live_slot: int
    archive_slot: int


@dataclass(frozen=True, slots=True)
class CorrelationPlan:
    """Both sides' plans and the join condition. No types; see `clocks_of`."""

    correlation: Correlation
    live: MatchPlan
    archive: MatchPlan
    names: PairNames
    keys: tuple[tuple[str, str], ...]
    """The key columns by their real names, as (live column, archive column)."""
    condition: Expr | None
    """The rest of the join predicate over resolved references, equalities included."""
    equalities: tuple[Equality, ...]
    """The conjuncts that an index can serve."""
    declined: dict[str, str] = field(default_factory=dict)
    """The other conjuncts, as written, with the reason."""


def plan_correlation(
    correlation: Correlation,
    live_columns: Sequence[str],
    archive_columns: Sequence[str],
    *,
    case_sensitive: bool = False,
) -> CorrelationPlan:
    """Binds both sides to their inputs and plans them."""
    live = make_plan(bind(correlation.live, live_columns, case_sensitive=case_sensitive))
    archive = make_plan(bind(correlation.archive, archive_columns, case_sensitive=case_sensitive))
    names = PairNames(correlation, live.bound.output_names, archive.bound.output_names, case_sensitive)
    condition = None if correlation.condition is None else names.resolved(correlation.condition)
    equalities: list[Equality] = []
    declined: dict[str, str] = {}
    for conjunct in _conjuncts(condition):
        equality = _equality(conjunct, live, archive)
        if isinstance(equality, Equality):
            equalities.append(equality)
        else:
            declined[_written(correlation, conjunct)] = equality
    keys = _real_keys(correlation, live, archive)
    return CorrelationPlan(correlation, live, archive, names, keys, condition, tuple(equalities), declined)


def _real_keys(correlation: Correlation, live: MatchPlan, archive: MatchPlan) -> tuple[tuple[str, str], ...]:
    """The join's keys with the column names of the inputs, instead of the names as written."""
    of_live = _real_names(live)
    of_archive = _real_names(archive)
    return tuple((of_live[live_key], of_archive[archive_key]) for live_key, archive_key in correlation.keys)


def _real_names(plan: MatchPlan) -> dict[str, str]:
    written = [key.column.text for key in plan.bound.clause.partition_by]
    return dict(zip(written, plan.bound.partition_by, strict=True))


# --- equalities -------------------------------------------------------------------------------------------------------


def _conjuncts(condition: Expr | None) -> Iterator[Expr]:
    if isinstance(condition, Operator) and condition.op == "and":
        yield from condition.args
    elif condition is not None:
        yield condition


def _equality(conjunct: Expr, live: MatchPlan, archive: MatchPlan) -> Equality | str:
    """The conjunct as an equality of slots, or the reason why it isn't one."""
    match conjunct:
        case Operator(op="=", args=(ColumnRef(parts=(_, _)) as one, ColumnRef(parts=(_, _)) as other)):
            by_side = {ref.parts[0].text: ref.parts[1].text for ref in (one, other)}
        case _:
            return "not an equality of two columns"
    if set(by_side) != {LIVE, ARCHIVE}:
        return "both columns are of one side"
    slots = [_slot_of(live, by_side[LIVE]), _slot_of(archive, by_side[ARCHIVE])]
    if slots[0] is None or slots[1] is None:
        return "a side's column isn't a plain value of the match"
    return Equality(by_side[LIVE], by_side[ARCHIVE], slots[0], slots[1])


def _slot_of(plan: MatchPlan, column: str) -> int | None:
    """The slot that a measure shows unchanged; None for computed measures and key columns."""
    for measure, outer in zip(plan.bound.measures, plan.outer, strict=True):
        if measure.name == column and isinstance(outer, Column):
            return next((i for i in range(len(plan.slots)) if slot_name(i) == outer.name), None)
    return None


def _written(correlation: Correlation, conjunct: Expr) -> str:
    """The conjunct as written in the text."""
    if correlation.text is None or conjunct.span is None:
        return "a conjunct of the condition"
    return " ".join(correlation.text[conjunct.span.start : conjunct.span.end].split())


# --- time -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimeColumns:
    """The columns with the start and the end of a row. Rows without duration have one column for both."""

    start: str
    end: str
    type: pa.DataType

    @property
    def has_intervals(self) -> bool:
        return self.start != self.end


@dataclass(frozen=True, slots=True)
class PairTimeColumns:
    """The time columns of both sides. They have the same type, which the correlation's own columns also have."""

    live: TimeColumns
    archive: TimeColumns

    @property
    def type(self) -> pa.DataType:
        return self.live.type


def clocks_of(
    plan: CorrelationPlan, live_type: Callable[[str], pa.DataType], archive_type: Callable[[str], pa.DataType]
) -> PairTimeColumns:
    """The time columns of both sides, given the (normalised) types of all columns. Checks those types.

    Two columns of dates or timestamps at the head of ORDER BY are the start and the end of each event.
    """
    live, archive = _clock(plan.live, live_type), _clock(plan.archive, archive_type)
    if live.type != archive.type:
        _fail_order(plan.archive, 0, f"the sides are ordered by different types: {live.type} and {archive.type}")
    _check_region(plan, live.type)
    for live_key, archive_key in plan.keys:
        kinds = live_type(live_key), archive_type(archive_key)
        if kinds[0] != kinds[1]:
            raise QueryError(
                "CORRELATION_KEYS",
                f"the key columns '{live_key}' ({kinds[0]}) and '{archive_key}' ({kinds[1]}) differ in type",
                text=plan.correlation.text,
                span=plan.correlation.recent,
                hint="cast one of them in a sub-query that feeds the clause",
            )
    return PairTimeColumns(live, archive)


def _clock(plan: MatchPlan, type_of: Callable[[str], pa.DataType]) -> TimeColumns:
    order = plan.bound.order_by
    start = order[0].column
    kind = type_of(start)
    if not (_is_time(kind) or pa.types.is_integer(kind)):
        message = f"the order column '{start}' is {kind}, neither a time nor a whole number"
        _fail_order(plan, 0, message)
    if len(order) < 2 or not _is_time(kind) or not _is_time(type_of(order[1].column)):
        return TimeColumns(start, start, kind)
    end = order[1].column
    if type_of(end) != kind:
        _fail_order(plan, 1, f"events start by '{start}' ({kind}), but end by '{end}' ({type_of(end)})")
    if order[1].key.descending:
        _fail_order(plan, 1, f"events with equal starts are ordered by their ends, '{end}', ascending")
    return TimeColumns(start, end, kind)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _fail_order(plan: MatchPlan, key: int, message: str) -> NoReturn:
    clause = plan.bound.clause
    hint = "cast it in a sub-query that feeds the clause; a second column that is no end can be made a number"
    raise QueryError("CORRELATION_ORDER", message, text=clause.text, span=clause.order_by[key].span, hint=hint)


def _check_region(plan: CorrelationPlan, kind: pa.DataType) -> None:
    region = plan.correlation.region
    if region.kind == "rows" or (region.kind == "time") == _is_time(kind):
        return
    wanted = "an interval" if _is_time(kind) else "a number"
    text = plan.correlation.text
    raise QueryError(
        "RECENT_DISTANCE",
        f"the rows are ordered by {kind}: the distance of RECENT is {wanted}",
        text=text,
        span=plan.correlation.recent,
        hint="INTERVAL '7' SECOND, 500 ROWS, or a number if a number orders the rows",
    )
