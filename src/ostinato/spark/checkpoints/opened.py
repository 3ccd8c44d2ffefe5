"""A checkpoint -> the state that an operator of Ostinato left in it, and what the operator was asked."""

from __future__ import annotations

from ostinato.errors import MatchError
from ostinato.spark.clause.clause_stream_task import ClauseDefinition
from ostinato.spark.event_queries.event_stream_task import EventsDefinition
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition, read_definition
from ostinato.spark.workloads.clauses_stream_task import ClausesDefinition


def definition_of(opened: Checkpoint) -> StreamDefinition:
    """Of whichever system. Raises STATE_FORMAT where it can't be read."""
    from ostinato.spark.summaries.summary_stream_task import SummaryDefinition  # loads kernels

    kinds: list[type[StreamDefinition]] = [ClauseDefinition, EventsDefinition, ClausesDefinition, SummaryDefinition]
    definition = read_definition(opened.definition(), kinds)
    if definition is None:
        raise MatchError(
            "STATE_FORMAT", f"the stream of {opened.path} was asked something that this version doesn't know"
        )
    return definition
