"""A summary as requested by the user: its query, its columns and the form of its answers."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.streams.stream_settings import DEFAULT_BUCKETS
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.task.summary_input import SummaryColumns


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A query for a stream summary, without the code that runs it."""

    query: SummaryQuery
    columns: SummaryColumns
    form: NumberForm = NumberForm.DECIMAL
    """The form of counts and sums in tables and DataFrames."""
    buckets: int = DEFAULT_BUCKETS
    """Number of buckets into which the keys of a stream are hashed. Changing it needs a new checkpoint."""
