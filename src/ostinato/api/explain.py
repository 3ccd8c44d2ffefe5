"""`ost.explain`: how Ostinato reads and runs a query, as text and as a picture of the automaton. No row is read.

>>> import ostinato as ost
>>> print(ost.explain("ORDER BY ts MEASURES LAST(ts) AS t PATTERN (A B* C) DEFINE B AS price < PREV(price)").text)
1. The query as understood
   ORDER BY ts
   ...
3. The automaton: 3 states, choices in order of preference
   start -> A
   A     -> B, else C
   B     -> B, else C
   C     -> match
...
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ostinato.api.any_query import QuerySource, as_query
from ostinato.api.clauses import MatchRecognizeQuery
from ostinato.api.correlations import CorrelationQuery
from ostinato.api.paths import PathsQuery
from ostinato.api.query import ColumnNames, default_columns
from ostinato.api.results import Result
from ostinato.api.workloads import WorkloadResult
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import shown
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.clause.language.clause_parser import DefaultColumns
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.explanation.clause_groups_text import clause_group_sections
from ostinato.explanation.clause_text import clause_text
from ostinato.explanation.correlation_text import correlations_text
from ostinato.explanation.events_svg import event_picture
from ostinato.explanation.events_text import explain_events
from ostinato.explanation.explained_clauses import ExplainedClause, is_statement, read_clauses
from ostinato.explanation.losses_text import losses_section
from ostinato.explanation.paths_text import paths_automaton, paths_text
from ostinato.explanation.planned_clause import PlannedClause, plan_clause
from ostinato.explanation.readable import readable
from ostinato.explanation.summary_text import summary_automaton, summary_text
from ostinato.explanation.text_sections import headed, underlined
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_clause import funnel_clause
from ostinato.pictures.automaton_svg import Picture, draw_automata
from ostinato.pictures.html_blocks import svg_block
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.rows.table_kinds import TableLike
from ostinato.summaries.summary_request import SummaryRequest
from ostinato.workloads.workload_request import WorkloadRequest
from ostinato.workloads.workload_rows import WorkloadRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    InputTable: TypeAlias = TableLike | pa.Schema | DataFrame
    Columns: TypeAlias = InputTable | dict[str, InputTable] | None
    """The columns of the input, or of several inputs by name."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """`text` for terminals, `svg` a self-contained picture; notebooks show both."""

    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return short_repr(self, self.text)

    def _repr_html_(self) -> str:
        return svg_block(self.svg) + text_block(self.text)


@only_our_errors()
def explain(
    query: QuerySource | Result[Any],
    table: Columns = None,
    *,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    type: TypeArgument = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Explanation:
    """Explains how Ostinato reads and runs a query: pattern, automaton, conditions, columns sent, engine, Spark plan.

    `query` is a query of any kind, as text or as an object, or SQL text with MATCH_RECOGNIZE: one section for each
    clause, and one for each correlation of two clauses. The result of `run` adds counters and losses.

    `table` gives the columns of the input: a pyarrow Table or Schema, a pandas or Spark DataFrame, or a dict of them by
    table name. Without it, the columns are those that the query mentions, and their types are unknown. `keys`, `time`
    and `type` name the columns for clauses that the text leaves out, as in `ost.match`.

    `checkpoint` is that of a stream: the text ends with what a restart with this clause would change, and whether the
    state can go on. `table` is then the streaming DataFrame.

    >>> print(explain("PATTERN SEQ(A, B+) RETURN COUNT(*)", type="kind", time="ts").text.splitlines()[0])
    1. The query as understood
    """
    if checkpoint is not None:
        explained = explain(query, table, keys=keys, time=time, type=type)
        lines = _change_report(query, table, default_columns(keys, time), checkpoint)
        return Explanation(f"{explained.text}\n\n{underlined('The checkpoint', lines)}", explained.svg)
    names_its_columns = isinstance(query, Result) or _is_sql(query)
    if names_its_columns and any(given is not None for given in (keys, time, type)):
        hint = "leave them out: a statement and a result name their columns themselves"
        raise QueryError("INVALID_OPTION", "keys=, time= and type= are for a clause or an event query", hint=hint)
    if isinstance(query, WorkloadResult):
        return _workload(query.workload, query.input if table is None else table, query.counters)
    if isinstance(query, Result):
        explained = explain(query.query, query.input if table is None else table)
        return Explanation(f"{explained.text}\n\n{headed('The run', str(query.report))}", explained.svg)
    if isinstance(query, str) and _is_sql(query):
        return _clauses(query, table)
    query = as_query(query, keys=keys, time=time, type=type)
    if isinstance(query, WorkloadRequest):
        return _workload(query, table)
    if isinstance(query, EventRequest):
        return Explanation(explain_events(query, table), event_picture(query, table))
    if isinstance(query, SummaryRequest):
        return Explanation(summary_text(query), summary_automaton(query))
    if isinstance(query, PathsQuery):
        return Explanation(paths_text(query.queries, query.options), paths_automaton(query.queries))
    if isinstance(query, CorrelationQuery):
        return _several({name: _clauses(text, table) for name, text in query.texts.items()})
    if isinstance(query, Funnel):
        return _clauses(funnel_clause(query), None)  # the clause orders by a column that only the run adds
    assert isinstance(query, MatchRecognizeQuery)
    return _clauses(query.clause_query.clause, table)


def _change_report(query: Any, table: Any, defaults: DefaultColumns, checkpoint: str | os.PathLike[str]) -> list[str]:
    """The differences between a clause and the one that the checkpoint's stream ran with."""
    if not is_spark_dataframe(table):
        raise QueryError("INVALID_OPTION", f"with checkpoint=, table is the streaming DataFrame, not {shown(table)}")
    from ostinato.spark.checkpoints.change_report import change_report

    options = query.options if isinstance(query, MatchRecognizeQuery) else None
    clause = query.clause_query if options else as_clause_query(query, defaults)
    return change_report(clause.clause, table, options, checkpoint)


def _is_sql(query: object) -> bool:
    """Whether it is the text of a whole SQL statement. An event query may begin with FROM, too."""
    return isinstance(query, str) and is_statement(query) and not is_event_text(query)


def _clauses(query: str | MatchRecognize, table: Any) -> Explanation:
    """One clause, or SQL text with several."""
    clauses = read_clauses(query, table)
    planned = [plan_clause(clause) for clause in clauses]
    texts = [_titled(clause, clause_text(plan), len(clauses)) for clause, plan in zip(clauses, planned, strict=True)]
    pictures = [_picture(clause, plan, len(clauses)) for clause, plan in zip(clauses, planned, strict=True)]
    correlations = correlations_text(query) if isinstance(query, str) and len(clauses) > 1 else None
    if correlations is not None:
        texts.insert(0, correlations)
    return Explanation("\n\n".join(texts), draw_automata(pictures))


def _several(explanations: dict[str, Explanation]) -> Explanation:
    """Explanations of several queries, each under its name; a single one without a name."""
    if len(explanations) == 1:
        return next(iter(explanations.values()))
    texts = (headed(name, each.text) for name, each in explanations.items())
    return Explanation("\n\n".join(texts), "\n".join(each.svg for each in explanations.values()))


def _workload(workload: WorkloadRequest, table: Any, run: WorkloadRows[Any] | None = None) -> Explanation:
    """The event queries together, then the groups of clauses, then each clause."""
    texts, pictures = [], []
    losses = losses_section(run) if run else None
    if workload.events:
        texts.append(explain_events(workload, table, run.statistics if run else None, losses))
        pictures.append(event_picture(workload, table))
    planned = {name: plan_clause(read_clauses(query.clause, table)[0]) for name, query in workload.clauses.items()}
    texts += clause_group_sections(workload, planned, table)
    for name, query in workload.clauses.items():
        explanation = _clauses(query.clause, table)
        texts.append(headed(name, explanation.text))
        pictures.append(explanation.svg)
    if losses is not None and not workload.events:
        texts.append(underlined(*losses))
    return Explanation("\n\n".join(texts), "\n".join(pictures))


def _titled(clause: ExplainedClause, text: str, count: int) -> str:
    kind = "MATCH_RECOGNIZE" if clause.window is None else "Window"
    return text if count == 1 else headed(f"{kind} {clause.number} of {count}, on {clause.input_text}", text)


def _picture(clause: ExplainedClause, planned: PlannedClause, count: int) -> Picture:
    bound = planned.plan.bound
    conditions = {definition.variable: readable(definition.condition) for definition in bound.clause.definitions}
    caption = f"{clause.number}. on {clause.input_text}" if count > 1 else ""
    return Picture(planned.plan.nfa, conditions, caption)
