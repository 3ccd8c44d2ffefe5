"""Questions about a graph: proposers and answerers of one's own, tables of questions, bad input."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.techniques.path_queries.proposing import masked

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


def test_queries_keep_their_names_though_the_walk_is_known() -> None:
    asked = ost.GraphQuestions(FILMS, Texts())
    for text in ("written_by / ^written_by", "written_by/^written_by"):
        reply = asked.ask(text, "Alila")
        assert reply.found is not None
        assert set(reply.found.table["query"].to_pylist()) == {text}
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


def test_examples_are_checked_when_they_are_learnt() -> None:
    with pytest.raises(ost.QueryError, match="expected a relation"):
        ost.LearntProposer([("who?", "Alila", "written_by /")])
    with pytest.raises(ost.QueryError, match="k is a whole number"):
        ost.LearntProposer([], k=0)
    assert ost.LearntProposer([]).propose("who?", "Alila") == []


def test_a_topic_is_masked_as_a_whole_word() -> None:
    assert masked("who wrote It with wit", "It") == "who wrote <topic> with wit"
    assert masked("who wrote [9 1/2 Weeks (1986)]?", "9 1/2 Weeks (1986)") == "who wrote <topic>"
