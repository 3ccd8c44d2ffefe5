"""The results of one step of a stream of event queries, whichever way it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from ostinato.workloads.shedding.report import Report


@dataclass(frozen=True, slots=True)
class TrendRows:
    """For each query of the plan its output columns (None: it gives no rows), and when they could be known."""

    columns: tuple[list[pa.Array] | None, ...]
    decided_us: int
    """Later than the watermark of the step."""
    reports: tuple[Report, ...] = ()
    """Under a bound: what was given up."""
