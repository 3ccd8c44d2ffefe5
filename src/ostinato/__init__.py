"""Event-pattern queries for Apache Spark: SQL MATCH_RECOGNIZE on DataFrames, in process and on a cluster.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> trades = pa.table({"ts": [1, 2, 3, 4], "price": [10.0, 8.0, 7.0, 9.0]})
>>> ost.match(
...     '''
...     ORDER BY ts
...     MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom, LAST(UP.price) AS now
...     PATTERN (START DOWN+ UP+)
...     DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)''',
...     trades,
... ).to_pylist()
[{'top': 10.0, 'bottom': 7.0, 'now': 9.0}]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ostinato.errors import EnvironmentFault, MatchError, OstinatoError, QueryError, unwrap

if TYPE_CHECKING:
    from ostinato.api.correlations import CorrelationQuery, correlate
    from ostinato.api.events import EventsQuery, events
    from ostinato.api.explain import Explanation, explain
    from ostinato.api.graph_questions import GraphQuestions, LearntProposer
    from ostinato.api.match import match
    from ostinato.api.paths import Graph, PathsResult, graph, paths
    from ostinato.api.summaries import StreamSummary, SummaryAnswer, summary
    from ostinato.api.workloads import Workload, WorkloadResult
    from ostinato.clause.language.clause_builder import PatternQuery, pattern
    from ostinato.event_queries.language.event_builder import absent, any_of, both, repeated, seq, without
    from ostinato.kernels.clock import VirtualClock
    from ostinato.local.correlation_runs import CorrelationResult
    from ostinato.path_queries.language.path_parser import path_query
    from ostinato.path_queries.questions.chat_endpoint import ChatEndpoint
    from ostinato.path_queries.questions.embeddings import EmbeddingSimilarity
    from ostinato.spark.checkpoints.finish import finish
    from ostinato.spark.checkpoints.open_partial_matches import state
    from ostinato.spark.clause.clause_dataframe import match_recognize
    from ostinato.spark.statements.statement import sql
    from ostinato.spark.streams.stream_metrics import stream_metrics
    from ostinato.spark.summaries.summary_ask import ask, ask_all

__version__ = "0.1.0"

_HOMES = {
    "Explanation": "ostinato.api.explain",
    "explain": "ostinato.api.explain",
    "PatternQuery": "ostinato.clause.language.clause_builder",
    "pattern": "ostinato.clause.language.clause_builder",
    "path_query": "ostinato.path_queries.language.path_parser",
    "absent": "ostinato.event_queries.language.event_builder",
    "any_of": "ostinato.event_queries.language.event_builder",
    "both": "ostinato.event_queries.language.event_builder",
    "repeated": "ostinato.event_queries.language.event_builder",
    "seq": "ostinato.event_queries.language.event_builder",
    "without": "ostinato.event_queries.language.event_builder",
    "CorrelationQuery": "ostinato.api.correlations",
    "CorrelationResult": "ostinato.local.correlation_runs",
    "correlate": "ostinato.api.correlations",
    "EventsQuery": "ostinato.api.events",
    "VirtualClock": "ostinato.kernels.clock",
    "Workload": "ostinato.api.workloads",
    "WorkloadResult": "ostinato.api.workloads",
    "events": "ostinato.api.events",
    "match": "ostinato.api.match",
    "match_recognize": "ostinato.spark.clause.clause_dataframe",
    "Graph": "ostinato.api.paths",
    "PathsResult": "ostinato.api.paths",
    "ChatEndpoint": "ostinato.path_queries.questions.chat_endpoint",
    "GraphQuestions": "ostinato.api.graph_questions",
    "EmbeddingSimilarity": "ostinato.path_queries.questions.embeddings",
    "LearntProposer": "ostinato.api.graph_questions",
    "graph": "ostinato.api.paths",
    "paths": "ostinato.api.paths",
    "sql": "ostinato.spark.statements.statement",
    "finish": "ostinato.spark.checkpoints.finish",
    "state": "ostinato.spark.checkpoints.open_partial_matches",
    "stream_metrics": "ostinato.spark.streams.stream_metrics",
    "StreamSummary": "ostinato.api.summaries",
    "SummaryAnswer": "ostinato.api.summaries",
    "summary": "ostinato.api.summaries",
    "ask": "ostinato.spark.summaries.summary_ask",
    "ask_all": "ostinato.spark.summaries.summary_ask",
}
"""Where the public names live. They are loaded when first used: the core needs no pyspark, errors no numba."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostinato' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "ChatEndpoint",
    "CorrelationQuery",
    "CorrelationResult",
    "EmbeddingSimilarity",
    "EnvironmentFault",
    "EventsQuery",
    "Explanation",
    "Graph",
    "GraphQuestions",
    "LearntProposer",
    "MatchError",
    "OstinatoError",
    "PathsResult",
    "PatternQuery",
    "QueryError",
    "StreamSummary",
    "SummaryAnswer",
    "VirtualClock",
    "Workload",
    "WorkloadResult",
    "__version__",
    "absent",
    "any_of",
    "ask",
    "ask_all",
    "both",
    "correlate",
    "events",
    "explain",
    "finish",
    "graph",
    "match",
    "match_recognize",
    "path_query",
    "paths",
    "pattern",
    "repeated",
    "seq",
    "sql",
    "state",
    "stream_metrics",
    "summary",
    "unwrap",
    "without",
]
