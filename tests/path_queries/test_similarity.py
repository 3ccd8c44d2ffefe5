"""How much a path is like a query: by words, and by embeddings."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from ostinato.errors import EnvironmentFault
from ostinato.path_queries.graph import make_graph
from ostinato.path_queries.language.path_parser import path_query
from ostinato.path_queries.questions.embeddings import EmbeddingSimilarity
from ostinato.path_queries.similarity import TokenOverlap

RELATIONS = ["written_by"] * 3 + ["directed_by"] * 3 + ["has_genre"]
GRAPH = make_graph(
    pa.table({"head": [f"h{i}" for i in range(7)], "relation": RELATIONS, "tail": [f"t{i}" for i in range(7)]})
)


def test_words_that_are_rare_count_more() -> None:
    likeness = TokenOverlap(GRAPH)
    query = path_query("written_by / ^written_by")
    assert likeness(["written_by", "^written_by"], query) == 1.0
    assert likeness(["has_genre"], query) == 0.0
    assert 0 < likeness(["directed_by"], query) < likeness(["written_by"], query) < 1
    assert likeness(["written_by"], path_query(". / ^.")) == 1.0  # it asks for nothing else
    assert likeness(["^written_by"], path_query("written_by")) == 0.0  # backwards is another thing


def words(sentence: str) -> NDArray[np.float32]:
    return np.array([sentence.count(word) for word in ("written", "directed", "inverse")], np.float32)


def test_embeddings_of_any_kind() -> None:
    likeness = EmbeddingSimilarity(words)
    assert likeness(["written_by"], path_query("written_by")) == 1.0
    assert likeness(["written_by"], path_query("directed_by")) == 0.0
    assert likeness(["^written_by"], path_query("written_by")) == pytest.approx(0.7071, abs=1e-4)
    assert likeness([], path_query("written_by")) == 0.0
    assert likeness(["written_by"], path_query(".*")) == 1.0


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(EnvironmentFault, match=r"ostinato\[embeddings\]"):
        EmbeddingSimilarity()


def test_the_model_of_the_extra_knows_what_words_mean() -> None:
    pytest.importorskip("wordllama")
    likeness = EmbeddingSimilarity()
    query = path_query("written_by")
    assert likeness(["written_by"], query) == 1.0
    assert likeness(["author"], query) > likeness(["release_year"], query)
