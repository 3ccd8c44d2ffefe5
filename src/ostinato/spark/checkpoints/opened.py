"""An opened checkpoint -> the definition of its query, of any system."""

from __future__ import annotations

from ostinato.errors import MatchError
from ostinato.spark.clause.clause_stream_task import ClauseDefinition
from ostinato.spark.event_queries.event_stream_task import EventsDefinition
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition, read_definition
from ostinato.spark.summaries.summary_stream_task import SummaryDefinition
from ostinato.spark.workloads.clauses_stream_task import ClausesDefinition


def definition_of(opened: Checkpoint) -> StreamDefinition:
    """The stored definition. Raises STATE_FORMAT if it can't be read."""
    kinds: list[type[StreamDefinition]] = [ClauseDefinition, EventsDefinition, ClausesDefinition, SummaryDefinition]
    definition = read_definition(opened.definition(), kinds)
    if definition is None:
        raise MatchError(
            "STATE_FORMAT", f"the stream of {opened.path} has a kind of query that this version doesn't know"
        )
    return definition
