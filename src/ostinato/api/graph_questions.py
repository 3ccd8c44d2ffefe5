"""Questions about a knowledge graph: a proposer gives path queries, one walk runs them, an answerer gives answers.

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
>>> questions = ost.GraphQuestions(ost.graph(films), learnt)
>>> reply = questions.ask("which movies share a screenwriter with Alila", "Alila")
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
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ostinato.api.paths import PathsQuery, PathsResult
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_text, shown
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_query import PathExpression, PathQuery
from ostinato.path_queries.path_facts import SCHEMA
from ostinato.path_queries.path_options import PathOptions, path_options, read_proposals, topic_name
from ostinato.path_queries.questions.answering import Answerer, BestPathAnswers
from ostinato.path_queries.questions.proposing import LearntProposer, Proposer
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe
from ostinato.rows.table_kinds import like

if TYPE_CHECKING:
    from ostinato.path_queries.search.path_search import PathWalk

T = TypeVar("T")
_MOST_WALKS = 1024
"""Largest number of cached walks. A question with the same proposals uses a cached walk."""

REPLIES = pa.schema(
    [
        ("queries", pa.list_(pa.string())),
        ("answers", pa.list_(pa.string())),
        ("paths", pa.list_(pa.struct([field for field in SCHEMA if field.name != "start"]))),
        ("complete", pa.bool_()),
    ]
)
"""The columns that `run` adds to the table of questions."""


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """The paths and the answers of one question."""

    question: str
    topic: str
    queries: tuple[PathQuery, ...]
    result: PathsResult[pa.Table] | None
    """The paths. None: the proposer gave no queries."""
    answers: tuple[str, ...]

    def facts(self, limit: int | None = None) -> str:
        """The paths as lines of text, ready for a prompt."""
        return "" if self.result is None else self.result.facts(limit)

    def __repr__(self) -> str:
        return short_repr(self, f"{self.question!r}: {', '.join(self.answers)}")

    def _repr_html_(self) -> str:
        return text_block(f"{self.question}\n{', '.join(self.answers)}\n\n{self.facts(20)}")


WalkRunner = Callable[[Callable[[], PathsResult[Any]]], PathsResult[Any]]
"""Runs a walk: in a thread that can be interrupted, or in the caller's thread."""


def _run_directly(walk: Callable[[], PathsResult[Any]]) -> PathsResult[Any]:
    """Runs a walk in the caller's thread. A Spark task needs no other thread, because Spark can end the task."""
    return walk()


class GraphQuestions:
    """A graph, a proposer and an answerer. Options are those of `ost.paths`: `latency_bound`, `simple`, `limit`, ...

    A proposer has `propose(question, topic)`, an answerer `answer(question, topic, paths)`. Each may also be a plain
    function with these arguments. A proposer may also give texts of path queries.
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

    def __repr__(self) -> str:
        return short_repr(self, f"{self.graph!r}, {type(self.proposer).__name__}")

    @only_our_errors()
    def ask(self, question: str, topic: str, *, deadline: Duration | None = None) -> Reply:
        """Answers one question about the node `topic`. With a `deadline` ("10 seconds"), the proposer and the answerer
        run in another thread."""
        if deadline is not None:
            return interruptible(lambda: self._reply(question, topic), deadline)
        return self._reply(question, topic, interruptible)

    def _reply(self, question: Any, topic: Any, run_walk: WalkRunner = _run_directly) -> Reply:
        """The proposer and the answerer run in the caller's thread."""
        a_text("question", question, may_be_empty=True)
        topic = topic_name(topic)
        queries = read_proposals(self._propose(question, topic))
        if not queries:
            return Reply(question, topic, (), None, ())
        result = run_walk(lambda: self._result(queries, topic))
        answers = _answers(self._answer(question, topic, result.table))
        return Reply(question, topic, queries, result, answers)

    def _result(self, queries: tuple[PathQuery, ...], topic: str) -> PathsResult[Any]:
        from ostinato.path_queries.task.walked_paths import walk_paths

        found = walk_paths(self._walk(queries), (topic,), self.options)
        return PathsQuery(queries, topic, self.options).result(self.graph, found)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the cached walks: a task can compute them again from the graph."""
        return {**self.__dict__, "_walks": {}}

    def _walk(self, queries: Sequence[PathQuery]) -> PathWalk:
        from ostinato.path_queries.search.path_search import PathWalk  # loads kernels; planning needs none

        key = tuple(query.expression for query in queries)
        walk = self._walks.get(key)
        if walk is None:
            if len(self._walks) >= _MOST_WALKS:
                self._walks.clear()
            walk = self._walks[key] = PathWalk(self.graph, queries)
        return walk.with_queries(queries)

    @only_our_errors()
    def run(
        self, questions: T, *, question: str = "question", topic: str = "topic", deadline: Duration | None = None
    ) -> T:
        """Answers a table of questions of any kind that `ost.match` takes, or a Spark DataFrame of them.

        Returns the same kind of table, with four more columns: queries, answers, paths and complete.
        """
        if is_spark_dataframe(questions):
            refuse_deadline(deadline)
            from ostinato.spark.path_queries.question_rows import answered_dataframe

            check_questions(questions.columns, question, topic)  # type: ignore[attr-defined]
            answer = partial(self.answered, question=question, topic=topic)
            return answered_dataframe(questions, answer, REPLIES)  # type: ignore[arg-type,return-value]
        table = questions if isinstance(questions, pa.Table) else as_table(questions, Settings())
        check_questions(table.column_names, question, topic)
        if deadline is not None:
            return like(questions, interruptible(lambda: self.answered(table, question, topic), deadline))
        return like(questions, self.answered(table, question, topic, interruptible))

    def answered(self, table: pa.Table, question: str, topic: str, run_walk: WalkRunner = _run_directly) -> pa.Table:
        """Adds the columns of the replies to the table. If the question or the topic is NULL, the reply is empty."""
        questions = zip(table[question].to_pylist(), table[topic].to_pylist(), strict=True)
        replies = [_shown(None if None in pair else self._reply(*pair, run_walk)) for pair in questions]
        for field in REPLIES:
            table = table.append_column(field, pa.array([reply[field.name] for reply in replies], field.type))
        return table


def _function(function_or_object: Any, method: str, *arguments: str) -> Callable[..., Any]:
    """The method of an object, or the function itself. Raises INVALID_OPTION."""
    signature = ", ".join(arguments)
    if isinstance(function_or_object, type):
        name = function_or_object.__name__
        raise QueryError("INVALID_OPTION", f"{name} is a class", hint=f"make one: {name}(...)")
    function = getattr(function_or_object, method, function_or_object)
    if not callable(function):
        name = function_or_object.__class__.__name__
        message = f"expected {method}({signature}) or a function of ({signature}), got {name}"
        raise QueryError("INVALID_OPTION", message)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        message = f"the {method} function takes other arguments than ({signature})"
        raise QueryError("INVALID_OPTION", message, hint=f"def {method}({signature}): ...") from None
    except ValueError:  # the signature of some functions of extensions is unknown
        pass
    return function  # type: ignore[no-any-return]


def _answers(returned: Any) -> tuple[str, ...]:
    answers = (returned,) if isinstance(returned, str) else tuple(returned) if isinstance(returned, Iterable) else None
    if answers is None or not all(isinstance(answer, str) for answer in answers):
        raise QueryError("INVALID_OPTION", f"an answerer gives texts, not {shown(returned)}")
    return answers


def check_questions(columns: Sequence[str], question: str, topic: str) -> None:
    """Raises UNKNOWN_COLUMN if a column is missing, RESERVED_NAME if a column has the name of a reply's column."""
    for name in (question, topic):
        if name not in columns:
            hint = f"they have {', '.join(columns)}; name them with question= and topic="
            raise QueryError("UNKNOWN_COLUMN", f"the questions have no column '{name}'", hint=hint)
    for name in columns:
        if name in REPLIES.names:
            raise QueryError("RESERVED_NAME", f"the questions can't have a column '{name}'", hint="rename it")


def _shown(reply: Reply | None) -> dict[str, Any]:
    if reply is None or reply.result is None:
        return {"queries": [], "answers": [], "paths": [], "complete": True}
    return {
        "queries": [query.text for query in reply.queries],
        "answers": list(reply.answers),
        "paths": reply.result.table.drop_columns(["start"]).to_pylist(),
        "complete": reply.result.walk is None or reply.result.walk.complete,
    }


__all__ = ["GraphQuestions", "LearntProposer", "Reply"]
