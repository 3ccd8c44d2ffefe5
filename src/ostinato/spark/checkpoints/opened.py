"""An opened checkpoint -> the definition of its query, of any system, and the rows of the end of input."""

from __future__ import annotations

from typing import assert_never, get_args

from pyspark.sql import DataFrame

from ostinato.errors import MatchError, QueryError
from ostinato.spark.clause.clause_finish import finished_clause
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.correlations.own_archive_definition import OwnArchiveDefinition
from ostinato.spark.correlations.own_archive_stream import finished_correlation
from ostinato.spark.event_queries.event_finish import finished_events
from ostinato.spark.event_queries.event_stream_definition import EventsDefinition
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_finish import finished_rules
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import read_definition
from ostinato.spark.summaries.summary_finish import finished_summary
from ostinato.spark.summaries.summary_stream_definition import SummaryDefinition
from ostinato.spark.workloads.clauses_finish import finished_clauses
from ostinato.spark.workloads.clauses_stream_definition import ClausesDefinition

AnyDefinition = (
    ClauseDefinition | EventsDefinition | ClausesDefinition | SummaryDefinition | RulesDefinition | OwnArchiveDefinition
)
_KINDS: tuple[type[AnyDefinition], ...] = get_args(AnyDefinition)


def definition_of(opened: Checkpoint) -> AnyDefinition:
    """The stored definition. Raises STATE_FORMAT if it can't be read."""
    definition = read_definition(opened.definition(), _KINDS)
    if definition is None:
        raise MatchError(
            "STATE_FORMAT", f"the stream of {opened.path} has a kind of query that this version doesn't know"
        )
    return definition


def finished_rows(definition: AnyDefinition, opened: Checkpoint, arriving: DataFrame | None = None) -> DataFrame:
    """The rows that the end of input would give, after the rows that still arrive at a clause."""
    if isinstance(definition, ClauseDefinition):
        return finished_clause(definition, opened, arriving)
    if arriving is not None:
        raise QueryError("INVALID_OPTION", f"arriving= is for clauses, and the stream of {opened.path} has none here")
    match definition:
        case EventsDefinition():
            return finished_events(definition, opened)
        case ClausesDefinition():
            return finished_clauses(definition, opened)
        case SummaryDefinition():
            return finished_summary(definition, opened)
        case RulesDefinition():
            return finished_rules(definition, opened)
        case OwnArchiveDefinition():
            return finished_correlation(definition, opened)
        case _:
            assert_never(definition)
