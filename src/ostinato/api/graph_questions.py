"""Questions about a knowledge graph: path queries are proposed, walked together under a bound, and lead to answers.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> films = pa.table(
...     {
...         "head": ["Alila", "Kedma", "Kadosh", "Alila"],
...         "relation": ["written_by", "written_by", "written_by", "has_genre"],
...         "tail": ["Amos Gitai", "Amos Gitai", "Amos Gitai", "Drama"],
...     }
... )
>>> learnt = ost.LearntProposer(
...     [
...         ("which films share a screenwriter with Kadosh", "Kadosh", "written_by / ^written_by"),
...         ("what kind of film is Kadosh", "Kadosh", "has_genre"),
...     ]
... )
>>> asked = ost.GraphQuestions(ost.graph(films), learnt)
>>> reply = asked.ask("which movies share a screenwriter with Alila", "Alila")
>>> reply.answers
('Kadosh', 'Kedma')
>>> print(reply.facts(2))
Alila -[written_by]-> Amos Gitai <-[written_by]- Alila
Alila -[written_by]-> Amos Gitai <-[written_by]- Kadosh
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ostinato.api.paths import PathsResult, walk_paths
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_text, shown
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_query import PathExpression, PathQuery
from ostinato.path_queries.path_options import PathOptions, path_options, read_proposals, topic_name
from ostinato.path_queries.questions.answering import Answerer, BestPathAnswers
from ostinato.path_queries.questions.proposing import LearntProposer, Proposer
from ostinato.path_queries.result_table import SCHEMA
from ostinato.path_queries.search.path_search import PathWalk
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe

_MOST_WALKS = 1024
"""Walks that are kept for questions whose proposals were there before."""

REPLIES = pa.schema(
    [
        ("queries", pa.list_(pa.string())),
        ("answers", pa.list_(pa.string())),
        ("paths", pa.list_(pa.struct([field for field in SCHEMA if field.name != "start"]))),
        ("complete", pa.bool_()),
    ]
)
"""The columns that an answered table of questions has more than before."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was found for one question."""

    question: str
    topic: str
    queries: tuple[PathQuery, ...]
    found: PathsResult | None
    """None: nothing was proposed."""
    answers: tuple[str, ...]

    def facts(self, limit: int | None = None) -> str:
        """The paths as lines of text, ready for a prompt."""
        return "" if self.found is None else self.found.facts(limit)


Walked = Callable[[Callable[[], PathsResult]], PathsResult]
"""Runs a walk: in a thread that can be interrupted, or here."""


def _here(walk: Callable[[], PathsResult]) -> PathsResult:
    """Spark's tasks start no threads: Spark ends them by itself."""
    return walk()


class GraphQuestions:
    """A graph, a proposer and an answerer. Options are those of `ost.paths`: `latency_bound`, `simple`, `limit`, ...

    A proposer has `propose(question, topic)`, an answerer `answer(question, topic, paths)`; a plain function with the
    same arguments will do for either. A function may propose texts of path queries too.
    """

    @only_our_errors()
    def __init__(
        self,
        graph: Graph,
        proposer: Proposer | Callable[[str, str], Any],
        answerer: Answerer | Callable[[str, str, pa.Table], Iterable[str]] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(graph, Graph):
            raise QueryError("NOT_A_GRAPH", f"expected ost.graph(...), got {graph.__class__.__name__}")
        self.graph = graph
        self.proposer = proposer
        self.answerer = BestPathAnswers() if answerer is None else answerer
        self._propose = _function(self.proposer, "propose", "question", "topic")
        self._answer = _function(self.answerer, "answer", "question", "topic", "paths")
        self.options: PathOptions = path_options(**options)
        self._walks: dict[tuple[PathExpression, ...], PathWalk] = {}

    @only_our_errors()
    def ask(self, question: str, topic: str, *, deadline: Duration | None = None) -> Reply:
        """One question about a node of the graph. With a `deadline` ("10 seconds") proposer and answerer run in another
        thread."""
        if deadline is not None:
            return interruptible(lambda: self._reply(question, topic), deadline)
        return self._reply(question, topic, interruptible)

    def _reply(self, question: Any, topic: Any, walked: Walked = _here) -> Reply:
        """`walked` runs the walk; the proposer and the answerer run in the thread of the caller."""
        a_text("question", question, may_be_empty=True)
        topic = topic_name(topic)
        queries = read_proposals(self._propose(question, topic))
        if not queries:
            return Reply(question, topic, (), None, ())
        found = walked(lambda: walk_paths(self._walk(queries), (topic,), self.options))
        answers = _answers(self._answer(question, topic, found.table))
        return Reply(question, topic, queries, found, answers)

    def __getstate__(self) -> dict[str, Any]:
        """Without the walks, which can be worked out again: tasks get the graph alone."""
        return {**self.__dict__, "_walks": {}}

    def _walk(self, queries: Sequence[PathQuery]) -> PathWalk:
        key = tuple(query.expression for query in queries)
        walk = self._walks.get(key)
        if walk is None:
            if len(self._walks) >= _MOST_WALKS:
                self._walks.clear()
            walk = self._walks[key] = PathWalk(self.graph, queries)
        return walk.with_queries(queries)

    @only_our_errors()
    def run(
        self, questions: Any, *, question: str = "question", topic: str = "topic", deadline: Duration | None = None
    ) -> Any:
        """A table or a Spark DataFrame of questions with the columns queries, answers, paths and complete beside."""
        if is_spark_dataframe(questions):
            refuse_deadline(deadline)
            from ostinato.spark.path_queries.question_rows import answered_dataframe

            check_questions(questions.columns, question, topic)
            return answered_dataframe(questions, partial(self.answered, question=question, topic=topic), REPLIES)
        table = questions if isinstance(questions, pa.Table) else as_table(questions, Settings())
        check_questions(table.column_names, question, topic)
        if deadline is not None:
            return interruptible(lambda: self.answered(table, question, topic), deadline)
        return self.answered(table, question, topic, interruptible)

    def answered(self, table: pa.Table, question: str, topic: str, walked: Walked = _here) -> pa.Table:
        """The table with the replies beside its rows; a question or topic that is NULL has none."""
        asked = zip(table[question].to_pylist(), table[topic].to_pylist(), strict=True)
        replies = [_shown(None if None in pair else self._reply(*pair, walked)) for pair in asked]
        for field in REPLIES:
            table = table.append_column(field, pa.array([reply[field.name] for reply in replies], field.type))
        return table


def _function(given: Any, method: str, *arguments: str) -> Callable[..., Any]:
    """The method of an object, or the object itself where it is a function. Raises INVALID_OPTION."""
    wanted = ", ".join(arguments)
    if isinstance(given, type):
        raise QueryError("INVALID_OPTION", f"{given.__name__} is a class", hint=f"make one: {given.__name__}(...)")
    function = getattr(given, method, given)
    if not callable(function):
        message = f"expected {method}({wanted}) or a function of ({wanted}), got {given.__class__.__name__}"
        raise QueryError("INVALID_OPTION", message)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        message = f"the {method} function takes other arguments than ({wanted})"
        raise QueryError("INVALID_OPTION", message, hint=f"def {method}({wanted}): ...") from None
    except ValueError:  # some functions of extensions don't tell their arguments
        pass
    return function  # type: ignore[no-any-return]


def _answers(given: Any) -> tuple[str, ...]:
    answers = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    if answers is None or not all(isinstance(answer, str) for answer in answers):
        raise QueryError("INVALID_OPTION", f"an answerer gives texts, not {shown(given)}")
    return answers


def check_questions(columns: Sequence[str], question: str, topic: str) -> None:
    """Raises UNKNOWN_COLUMN where one is missing, RESERVED_NAME for one that a reply has."""
    for name in (question, topic):
        if name not in columns:
            hint = f"they have {', '.join(columns)}; name them with question= and topic="
            raise QueryError("UNKNOWN_COLUMN", f"the questions have no column '{name}'", hint=hint)
    for name in columns:
        if name in REPLIES.names:
            raise QueryError("RESERVED_NAME", f"the questions can't have a column '{name}'", hint="rename it")


def _shown(reply: Reply | None) -> dict[str, Any]:
    if reply is None or reply.found is None:
        return {"queries": [], "answers": [], "paths": [], "complete": True}
    return {
        "queries": [query.text for query in reply.queries],
        "answers": list(reply.answers),
        "paths": reply.found.table.drop_columns(["start"]).to_pylist(),
        "complete": reply.found.report.complete,
    }


__all__ = ["GraphQuestions", "LearntProposer", "Reply"]
