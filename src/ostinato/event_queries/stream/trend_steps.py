"""The results of one step of a stream of event queries, whichever way it runs."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.rows.loss_report import Report


@dataclass(frozen=True, slots=True)
class TrendRows:
    """For each query of the plan, its output columns (None if it has no rows) and their decision times."""

    columns: tuple[list[pa.Array] | None, ...]
    decided_us: int
    """Decision time of the rows; it is later than the step's watermark."""
    reports: tuple[Report, ...] = ()
    """Under a bound: what was given up."""
