"""A summary as requested by the user: its query, its columns and the form of its answers."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.streams.stream_settings import DEFAULT_BUCKETS
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.task.summary_input import SummaryColumns


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What to keep."""

    query: SummaryQuery
    columns: SummaryColumns
    form: NumberForm = NumberForm.DECIMAL
    """How counts and sums are given in tables and DataFrames."""
    buckets: int = DEFAULT_BUCKETS
    """Into how many parts the keys of a stream are hashed, fixed for the life of its checkpoint."""
