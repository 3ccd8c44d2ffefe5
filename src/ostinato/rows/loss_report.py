"""The report of a bounded run: its losses, how it kept its bounds, and the cost of deciding; as values, table and
text."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.calls.bounds import CALIBRATION_EVENTS, CALIBRATION_WINDOWS, Bounds
from ostinato.calls.shown_objects import short_repr, text_block

MOST_PERIODS = 512
"""Largest number of periods in a report. Beyond that, neighbouring periods are joined."""


@dataclass(frozen=True, slots=True)
class PatternReport:
    """One pattern over all events of a call."""

    query: str
    events: int
    matches: int
    """Each once for every window that holds it."""
    dropped: int
    """Partial matches that were dropped for this pattern, or not made."""
    lost_estimate: float | None
    """0 where no match can be missing. None, like the recall, where it is unknown: partial matches were dropped in this
    call or in an earlier one, or the policy leaves out events."""
    recall_estimate: float | None
    """1 where no match can be missing, otherwise None."""
    bound_ns: float | None
    calibrated_events: int | None
    """For a bound given as a ratio: events that were matched without a bound first. None for other bounds."""
    latency_p50_ns: float | None
    """None, like the others, where no chunk has ended. Once the bound is calibrated, only chunks under it count."""
    latency_p95_ns: float | None
    latency_p99_ns: float | None
    within_bound: float
    """Fraction of the events whose chunk kept the latency bound; 1 without a bound."""
    overhead: float
    """Time for deciding, as a fraction of the time for matching."""


@dataclass(frozen=True, slots=True)
class Period:
    """About one window of events, or several joined ones."""

    first_event: int
    """Number in the stream, from 0."""
    events: int
    dropped: tuple[int, ...]
    matches: tuple[int, ...]
    """Each once, however many windows hold it."""

    def joined(self, other: Period) -> Period:
        return Period(
            self.first_event,
            self.events + other.events,
            tuple(a + b for a, b in zip(self.dropped, other.dropped, strict=True)),
            tuple(a + b for a, b in zip(self.matches, other.matches, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The losses of one engine in one call, and how it kept the bounds."""

    patterns: tuple[PatternReport, ...]
    periods: tuple[Period, ...] = ()
    policy: str = "sharp"
    sheds_input: bool = False
    """Whether the policy leaves out events. They aren't counted as dropped."""
    bounds: Bounds | None = None
    """The bounds of this engine."""
    memory_bytes: int | None = None
    """Largest size of the partial matches at a decision; None without a memory bound."""
    spent_ns: int = 0
    """On matching and deciding."""

    def table(self) -> pa.Table:
        """A row for each pattern. Values of the engine are the same in all rows; don't add them up."""
        together = {
            "memory_bytes": self.memory_bytes,
            "memory_bound_bytes": None if self.bounds is None else self.bounds.memory_bytes,
            "spent_ns": self.spent_ns,
            "batch_budget_ns": None if self.bounds is None else self.bounds.batch_budget_ns,
            "selection_ratio": None if self.bounds is None else self.bounds.selection_ratio,
        }
        columns = {name: [getattr(row, name) for row in self.patterns] for name in PatternReport.__dataclass_fields__}
        columns |= {name: [value] * len(self.patterns) for name, value in together.items()}
        return pa.table({name: pa.array(values, _TYPES.get(name, pa.float64())) for name, values in columns.items()})

    def by_period(self) -> pa.Table:
        """A row for each pattern and period. Losses of a period are known where those of the call are."""
        rows = [(period, at, pattern.query) for period in self.periods for at, pattern in enumerate(self.patterns)]
        return pa.table(
            {
                "query": pa.array([query for _, _, query in rows], pa.string()),
                "first_event": pa.array([period.first_event for period, _, _ in rows], pa.int64()),
                "events": pa.array([period.events for period, _, _ in rows], pa.int64()),
                "matches": pa.array([period.matches[at] for period, at, _ in rows], pa.int64()),
                "dropped": pa.array([period.dropped[at] for period, at, _ in rows], pa.int64()),
                "lost_estimate": pa.array([self.patterns[at].lost_estimate for _, at, _ in rows], pa.float64()),
                "recall_estimate": pa.array([self.patterns[at].recall_estimate for _, at, _ in rows], pa.float64()),
            }
        )

    def __str__(self) -> str:
        lines = [_line(row, self._given_up_words(row), self._latency_words(row)) for row in self.patterns]
        return "\n".join([f"shedding: {self.policy}", *lines, *self._bounds_together()])

    def __repr__(self) -> str:
        return short_repr(self, "matches: " + ", ".join(f"{row.query} {row.matches:,}" for row in self.patterns))

    def _repr_html_(self) -> str:
        return text_block(str(self))

    def _given_up_words(self, row: PatternReport) -> str:
        if row.recall_estimate is not None:
            return f"none given up (recall {row.recall_estimate:.0%})"
        why = f"{self.policy} leaves out events" if self.sheds_input else "partial matches were dropped"
        return f"an unknown number given up (recall unknown: {why}, and the matches they would have made aren't known)"

    def _latency_words(self, row: PatternReport) -> str:
        """The latency bound of a pattern, and how it was kept."""
        if row.bound_ns is not None:
            kept = f"kept for {row.within_bound:.1%} of the events"
            if row.calibrated_events is None:
                return f"bound {_time(row.bound_ns)} an event, {kept}"
            calibrated = f"calibrated on {row.calibrated_events:,} events without one"
            return f"bound {_time(row.bound_ns)} an event ({calibrated}), {kept} since"
        if row.calibrated_events is not None:
            least = f"at least {CALIBRATION_EVENTS:,} events and {CALIBRATION_WINDOWS:g} windows"
            return f"its bound isn't known yet, it is measured on {least}"
        return "" if self._bounds_together() else "no latency bound"

    def _bounds_together(self) -> list[str]:
        """A line for each bound that all patterns keep together."""
        if self.bounds is None:
            return []
        lines = []
        allowed = self.bounds.memory_bytes
        if allowed is not None:
            used = "not measured: no chunk has ended"
            if self.memory_bytes is not None:
                used = f"at most {self.memory_bytes:,} when deciding{_missed(self.memory_bytes, allowed)}"
            lines.append(f"memory: {allowed:,} bytes allowed; {used}")
        budget = self.bounds.batch_budget_ns
        if budget is not None:
            lines.append(f"budget: {_time(budget)}; {_time(self.spent_ns)} spent{_missed(self.spent_ns, budget)}")
        ratio = self.bounds.selection_ratio
        if ratio is not None:
            lines.append(f"selection: {ratio:.4g} of the partial matches are kept, whatever they cost")
        return lines


_TYPES = {
    "query": pa.string(),
    "events": pa.int64(),
    "matches": pa.int64(),
    "dropped": pa.int64(),
    "calibrated_events": pa.int64(),
    **dict.fromkeys(("memory_bytes", "memory_bound_bytes", "spent_ns", "batch_budget_ns"), pa.int64()),
}


def with_period(periods: tuple[Period, ...], period: Period) -> tuple[Period, ...]:
    return at_most((*periods, period), MOST_PERIODS)


def at_most(periods: tuple[Period, ...], count: int) -> tuple[Period, ...]:
    """At most `count` periods over the same events. Neighbours are joined."""
    while len(periods) > count:
        pairs = zip(periods[::2], periods[1::2], strict=False)
        periods = tuple(a.joined(b) for a, b in pairs) + periods[len(periods) // 2 * 2 :]
    return periods


def _line(row: PatternReport, given_up: str, bound: str) -> str:
    latency = ""
    if row.latency_p50_ns is not None and row.latency_p99_ns is not None:
        latency = f"latency {_time(row.latency_p50_ns)} median, {_time(row.latency_p99_ns)} at 99 %"
    matches = f"{row.query}: {row.matches:,} matches, {given_up}, {row.dropped:,} partial matches dropped"
    return "; ".join(filter(None, (matches, bound, latency, f"deciding took {_beside(row.overhead)}")))


def _beside(overhead: float) -> str:
    if overhead < 1:
        return f"{overhead:.1%} of the time of matching"
    return f"{overhead:,.1f} times as long as matching"


def _missed(used: float, allowed: float) -> str:
    return f", {used / allowed - 1:,.0%} too much" if used > allowed else ""


def _time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"
