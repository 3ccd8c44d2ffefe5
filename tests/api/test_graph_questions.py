"""Questions about a graph: proposers and answerers of one's own, tables of questions, bad input."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.path_queries.questions.proposing import masked

FILMS = ost.graph(
    pa.table({"head": ["Alila", "Kedma"], "relation": ["written_by", "written_by"], "tail": ["Amos Gitai"] * 2})
)


class Texts:
    """Proposes texts; the blanks tell one question from the other."""

    def propose(self, question: str, topic: str) -> list[str]:
        return [question]


class Counted:
    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        return [f"{paths.num_rows} paths"]


def test_proposals_may_be_texts() -> None:
    asked = ost.GraphQuestions(FILMS, Texts(), Counted())
    assert asked.ask("written_by", "Alila").answers == ("1 paths",)


def test_functions_propose_and_answer() -> None:
    asked = ost.GraphQuestions(FILMS, lambda question, topic: ["written_by", "written_by / ^written_by"])
    assert asked.ask("?", "Alila").answers == ("Amos Gitai", "Kedma")
    one = ost.GraphQuestions(FILMS, lambda question, topic: question, lambda *given: given[1])  # a text is one query
    assert one.ask("written_by", "Alila").answers == ("Alila",)
    named = ost.GraphQuestions(FILMS, lambda question, topic: {"writer": ost.path_query("written_by")})
    assert [query.name for query in named.ask("?", "Alila").queries] == ["writer"]
    assert ost.GraphQuestions(FILMS, lambda question, topic: iter(())).ask("?", "Alila").result is None


@pytest.mark.parametrize(
    ("proposer", "answerer"),
    [
        (None, None),
        ("written_by", None),
        (ost.LearntProposer, None),
        (lambda question: [], None),
        (lambda question, topic, more: [], None),
        (Texts(), lambda question, topic: []),
        (Texts(), 7),
        (Texts(), Counted),
    ],
)
def test_what_can_neither_propose_nor_answer(proposer: Any, answerer: Any) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.GraphQuestions(FILMS, proposer, answerer)
    assert caught.value.code == "INVALID_OPTION"


@pytest.mark.parametrize(
    ("proposed", "answered", "code"),
    [
        (None, [], "NOT_A_QUERY"),
        ([7], [], "NOT_A_QUERY"),
        (["written_by /"], [], "SYNTAX_ERROR"),
        ("written_by", None, "INVALID_OPTION"),
        ("written_by", [1], "INVALID_OPTION"),
    ],
)
def test_what_functions_give_is_checked(proposed: Any, answered: Any, code: str) -> None:
    asked = ost.GraphQuestions(FILMS, lambda question, topic: proposed, lambda question, topic, paths: answered)
    with pytest.raises(ost.QueryError) as caught:
        asked.ask("?", "Alila")
    assert caught.value.code == code


def test_queries_keep_their_names_though_the_walk_is_known() -> None:
    asked = ost.GraphQuestions(FILMS, Texts())
    for text in ("written_by / ^written_by", "written_by/^written_by"):
        reply = asked.ask(text, "Alila")
        assert reply.result is not None
        assert set(reply.result.table["query"].to_pylist()) == {text}
    before = len(pickle.dumps(ost.GraphQuestions(FILMS, Texts())))
    assert len(pickle.dumps(asked)) == before  # walks stay here


@pytest.mark.parametrize(
    ("questions", "code"),
    [
        (None, "NOT_A_TABLE"),
        (pa.table({"question": ["?"]}), "UNKNOWN_COLUMN"),
        (pa.table({"question": ["?"], "topic": ["Alila"], "answers": ["?"]}), "RESERVED_NAME"),
    ],
)
def test_tables_that_are_none_of_questions(questions: object, code: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.GraphQuestions(FILMS, Texts()).run(questions)
    assert caught.value.code == code


def test_a_topic_may_be_a_whole_number() -> None:
    asked = ost.GraphQuestions(ost.graph(pa.table({"head": [5], "relation": ["next"], "tail": [6]})), Texts())
    reply = asked.ask("next", 5)
    assert (reply.topic, reply.answers) == ("5", ("6",))
    assert asked.run(pa.table({"question": ["next"], "topic": [5]}))["answers"].to_pylist() == [["6"]]


@pytest.mark.parametrize(("question", "topic"), [("next", 5.5), ("next", None), ("next", ["a", "b"]), (5, "Alila")])
def test_questions_and_topics_are_checked(question: Any, topic: Any) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.GraphQuestions(FILMS, Texts()).ask(question, topic)
    assert caught.value.code == "INVALID_OPTION"


def test_a_misspelt_option_names_the_right_one() -> None:
    with pytest.raises(ost.QueryError, match="there is no option 'limt'") as caught:
        ost.GraphQuestions(FILMS, Texts(), limt=5)
    assert caught.value.hint == "did you mean 'limit'?"
    with pytest.raises(ost.QueryError, match="did you mean 'latency_bound'"):
        ost.GraphQuestions(FILMS, Texts(), latency_bond="5 ms")


def test_examples_are_checked_when_they_are_learnt() -> None:
    with pytest.raises(ost.QueryError, match="expected a relation"):
        ost.LearntProposer([("who?", "Alila", "written_by /")])
    with pytest.raises(ost.QueryError, match="k is a whole number"):
        ost.LearntProposer([], k=0)
    assert ost.LearntProposer([]).propose("who?", "Alila") == []


def test_a_topic_is_masked_as_a_whole_word() -> None:
    assert masked("who wrote It with wit", "It") == "who wrote <topic> with wit"
    assert masked("who wrote [9 1/2 Weeks (1986)]?", "9 1/2 Weeks (1986)") == "who wrote <topic>"
