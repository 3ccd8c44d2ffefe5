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

from ostinato.errors import EnvironmentFault, MatchError, OstinatoError, OstinatoWarning, QueryError, unwrap

if TYPE_CHECKING:
    from ostinato.api.clause_builder import PatternQuery, pattern
    from ostinato.api.clauses import MatchRecognizeQuery, match_recognize
    from ostinato.api.correlations import CorrelationQuery, CorrelationResult, correlate
    from ostinato.api.event_builder import (
        EventBuilder,
        event_and,
        event_not,
        event_or,
        event_repeat,
        event_seq,
        event_without,
    )
    from ostinato.api.events import EventsQuery, events
    from ostinato.api.explain import Explanation, explain
    from ostinato.api.funnels import FunnelQuery, FunnelReport, FunnelResult, funnel
    from ostinato.api.graph_questions import GraphQuestions, LearntProposer
    from ostinato.api.match import match
    from ostinato.api.paths import Graph, PathsQuery, PathsResult, graph, paths
    from ostinato.api.plot import plot
    from ostinato.api.plot_object import Plot
    from ostinato.api.query import Query
    from ostinato.api.results import Result, RunReport
    from ostinato.api.rules import rules, suspend_rule, write_rule
    from ostinato.api.summaries import StreamSummary, SummaryAnswer, SummaryResult, summary
    from ostinato.api.why_not import WhyNot, why_not
    from ostinato.api.workloads import Workload, WorkloadResult
    from ostinato.kernels.clock import VirtualClock
    from ostinato.live_console.notebook import LiveConsole, console
    from ostinato.path_queries.language.path_parser import path_query
    from ostinato.path_queries.questions.chat_endpoint import ChatEndpoint
    from ostinato.path_queries.questions.embeddings import EmbeddingSimilarity
    from ostinato.spark.checkpoints.finish import finish_stream
    from ostinato.spark.checkpoints.open_partial_matches import stream_state
    from ostinato.spark.sinks.data_sources import register_sinks
    from ostinato.spark.sinks.upserts import Upsert, upsert
    from ostinato.spark.statements.statement import sql
    from ostinato.spark.streams.stream_metrics import stream_metrics
    from ostinato.spark.summaries.summary_ask import summary_answer, summary_answers
    from ostinato.summaries.summary_options import EventTypes, Eviction

__version__ = "0.1.0"

_HOMES = {
    "Explanation": "ostinato.api.explain",
    "explain": "ostinato.api.explain",
    "PatternQuery": "ostinato.api.clause_builder",
    "pattern": "ostinato.api.clause_builder",
    "path_query": "ostinato.path_queries.language.path_parser",
    "event_not": "ostinato.api.event_builder",
    "event_or": "ostinato.api.event_builder",
    "event_and": "ostinato.api.event_builder",
    "event_repeat": "ostinato.api.event_builder",
    "event_seq": "ostinato.api.event_builder",
    "event_without": "ostinato.api.event_builder",
    "CorrelationQuery": "ostinato.api.correlations",
    "CorrelationResult": "ostinato.api.correlations",
    "correlate": "ostinato.api.correlations",
    "EventsQuery": "ostinato.api.events",
    "VirtualClock": "ostinato.kernels.clock",
    "WhyNot": "ostinato.api.why_not",
    "why_not": "ostinato.api.why_not",
    "Workload": "ostinato.api.workloads",
    "WorkloadResult": "ostinato.api.workloads",
    "events": "ostinato.api.events",
    "match": "ostinato.api.match",
    "match_recognize": "ostinato.api.clauses",
    "FunnelQuery": "ostinato.api.funnels",
    "FunnelReport": "ostinato.api.funnels",
    "FunnelResult": "ostinato.api.funnels",
    "funnel": "ostinato.api.funnels",
    "Plot": "ostinato.api.plot_object",
    "plot": "ostinato.api.plot",
    "LiveConsole": "ostinato.live_console.notebook",
    "console": "ostinato.live_console.notebook",
    "Graph": "ostinato.api.paths",
    "PathsQuery": "ostinato.api.paths",
    "PathsResult": "ostinato.api.paths",
    "Query": "ostinato.api.query",
    "Result": "ostinato.api.results",
    "RunReport": "ostinato.api.results",
    "EventTypes": "ostinato.summaries.summary_options",
    "Eviction": "ostinato.summaries.summary_options",
    "SummaryResult": "ostinato.api.summaries",
    "EventBuilder": "ostinato.api.event_builder",
    "MatchRecognizeQuery": "ostinato.api.clauses",
    "ChatEndpoint": "ostinato.path_queries.questions.chat_endpoint",
    "GraphQuestions": "ostinato.api.graph_questions",
    "EmbeddingSimilarity": "ostinato.path_queries.questions.embeddings",
    "LearntProposer": "ostinato.api.graph_questions",
    "graph": "ostinato.api.paths",
    "paths": "ostinato.api.paths",
    "rules": "ostinato.api.rules",
    "write_rule": "ostinato.api.rules",
    "suspend_rule": "ostinato.api.rules",
    "register_sinks": "ostinato.spark.sinks.data_sources",
    "Upsert": "ostinato.spark.sinks.upserts",
    "upsert": "ostinato.spark.sinks.upserts",
    "sql": "ostinato.spark.statements.statement",
    "finish_stream": "ostinato.spark.checkpoints.finish",
    "stream_state": "ostinato.spark.checkpoints.open_partial_matches",
    "stream_metrics": "ostinato.spark.streams.stream_metrics",
    "StreamSummary": "ostinato.api.summaries",
    "SummaryAnswer": "ostinato.api.summaries",
    "summary": "ostinato.api.summaries",
    "summary_answer": "ostinato.spark.summaries.summary_ask",
    "summary_answers": "ostinato.spark.summaries.summary_ask",
}
"""Where the public names live. They are loaded when first used: the core needs no pyspark, errors no numba."""


_RENAMED = {
    "seq": "event_seq",
    "any_of": "event_or",
    "both": "event_and",
    "absent": "event_not",
    "repeated": "event_repeat",
    "finish": "finish_stream",
    "state": "stream_state",
    "ask": "summary_answer",
    "ask_all": "summary_answers",
}
"""Names before docs/decisions/017."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        hint = f"; it is called '{_RENAMED[name]}' now" if name in _RENAMED else ""
        raise AttributeError(f"module 'ostinato' has no attribute '{name}'{hint}")
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
    "EventBuilder",
    "EventTypes",
    "EventsQuery",
    "Eviction",
    "Explanation",
    "FunnelQuery",
    "FunnelReport",
    "FunnelResult",
    "Graph",
    "GraphQuestions",
    "LearntProposer",
    "LiveConsole",
    "MatchError",
    "MatchRecognizeQuery",
    "OstinatoError",
    "OstinatoWarning",
    "PathsQuery",
    "PathsResult",
    "PatternQuery",
    "Plot",
    "Query",
    "QueryError",
    "Result",
    "RunReport",
    "StreamSummary",
    "SummaryAnswer",
    "SummaryResult",
    "Upsert",
    "VirtualClock",
    "WhyNot",
    "Workload",
    "WorkloadResult",
    "__version__",
    "console",
    "correlate",
    "event_and",
    "event_not",
    "event_or",
    "event_repeat",
    "event_seq",
    "event_without",
    "events",
    "explain",
    "finish_stream",
    "funnel",
    "graph",
    "match",
    "match_recognize",
    "path_query",
    "paths",
    "pattern",
    "plot",
    "register_sinks",
    "rules",
    "sql",
    "stream_metrics",
    "stream_state",
    "summary",
    "summary_answer",
    "summary_answers",
    "unwrap",
    "upsert",
    "why_not",
    "write_rule",
    "suspend_rule",
]
