"""The numbers of a funnel: for each step the keys that reached it, and the time that they took from the step before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from ostinato.pictures.funnel_svg import FunnelBar, draw_funnel

_HEADS = ("step", "name", "keys", "of first", "of previous", "dropped", "median", "90 %")
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
QUANTILES = (0.5, 0.9)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Exact percentiles of the time from the step before, in seconds; None if no key took the step."""

    median_seconds: float | None = None
    p90_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FunnelNumbers:
    """One entry for each step. `str` shows a table; `.table` has the same numbers in Arrow."""

    names: tuple[str, ...]
    keys: tuple[int, ...]
    """The number of keys that reached the step."""
    times: tuple[StepTimes, ...]
    """The first step has none."""

    @property
    def from_first(self) -> list[float | None]:
        """The share of the keys of the first step that reached this one."""
        return [_share(count, self.keys[0]) for count in self.keys]

    @property
    def from_previous(self) -> list[float | None]:
        """The share of the keys of the step before that reached this one."""
        return [None, *(_share(count, before) for before, count in pairwise(self.keys))]

    @property
    def dropped(self) -> list[int]:
        """The keys that reached the step before, but not this one."""
        return [0, *(before - count for before, count in pairwise(self.keys))]

    @property
    def table(self) -> pa.Table:
        return pa.table(
            {
                "step": pa.array(range(1, len(self.names) + 1), pa.int32()),
                "name": pa.array(self.names, pa.string()),
                "keys": pa.array(self.keys, pa.int64()),
                "from_first": pa.array(self.from_first, pa.float64()),
                "from_previous": pa.array(self.from_previous, pa.float64()),
                "dropped": pa.array(self.dropped, pa.int64()),
                "median_seconds": pa.array([time.median_seconds for time in self.times], pa.float64()),
                "p90_seconds": pa.array([time.p90_seconds for time in self.times], pa.float64()),
            }
        )

    def svg(self) -> str:
        """The funnel as a bar chart, in one self-contained SVG."""
        remarks = [
            f"{percent_words(previous)} of previous, median {time_words(time.median_seconds)}"
            for previous, time in zip(self.from_previous[1:], self.times[1:], strict=True)
        ]
        columns = zip(self.names, self.keys, self.from_first, ["", *remarks], strict=True)
        return draw_funnel([FunnelBar(name, count, share or 0.0, remark) for name, count, share, remark in columns])

    def __str__(self) -> str:
        columns = (
            [str(step) for step in range(1, len(self.names) + 1)],
            [" ".join(name.split()) for name in self.names],
            [f"{count:,}" for count in self.keys],
            [percent_words(share) for share in self.from_first],
            [percent_words(share) for share in self.from_previous],
            [f"{count:,}" for count in self.dropped],
            [time_words(time.median_seconds) for time in self.times],
            [time_words(time.p90_seconds) for time in self.times],
        )
        return _aligned([_HEADS, *zip(*columns, strict=True)])


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def percent_words(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def time_words(seconds: float | None) -> str:
    """A length of time in the largest unit that fits.

    >>> time_words(90), time_words(86_400 * 3), time_words(0), time_words(None)
    ('1.5 min', '3.0 d', '0.0 s', '-')
    """
    if seconds is None:
        return "-"
    length, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1.0, "s"))
    return f"{seconds / length:.1f} {unit}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side: names to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
