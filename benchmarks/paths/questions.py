"""The graph and the questions: MetaQA where its folder is given, a film graph of our own otherwise.

Proposals are learnt on the dev questions and asked of the test questions. Only questions whose answers the graph at
hand has all and alone count: some triples of MetaQA are missing in the staged copy.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from benchmarks.experiment import Scale
from benchmarks.trends.recorded import FOLDER_VARIABLE
from ostinato.path_queries.questions.proposing import Example

HOPS = (1, 2, 3)
MOST_QUESTIONS = {Scale.SMALL: 300, Scale.FULL: 14_872}
"""Of each number of hops."""
_FILMS, _PEOPLE = 4_000, 2_500


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    topic: str
    path: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """All questions of one number of hops."""

    name: str
    hops: int
    dev: tuple[Question, ...]
    test: tuple[Question, ...]

    def learnt(self, k: int) -> ost.LearntProposer:
        return ost.LearntProposer((Example(one.text, one.topic, one.path) for one in self.dev), k=k)


def load(scale: Scale) -> tuple[str, ost.Graph, list[QuestionSet]]:
    """The data set's name, its graph, and its questions by hops."""
    folder = os.environ.get(FOLDER_VARIABLE)
    kept = Path(folder) / "metaqa" if folder else None
    if kept is None or not (kept / "kb_triples.parquet").exists():
        return "films", *_films(scale)
    graph = ost.graph(pq.read_table(kept / "kb_triples.parquet", columns=["head", "relation", "tail"]))
    rows = pq.read_table(kept / "questions.parquet").to_pylist()
    sets = []
    for hops in HOPS:
        parts = {
            split: tuple(
                Question(
                    row["question"], row["topic_entity"], " / ".join(row["relation_path"]), frozenset(row["answers"])
                )
                for row in rows
                if row["hop"] == hops and row["split"] == split and (split == "dev" or row["kb_exact"])
            )
            for split in ("dev", "test")
        }
        sets.append(QuestionSet("MetaQA", hops, parts["dev"], _sample(parts["test"], MOST_QUESTIONS[scale])))
    return "MetaQA", graph, sets


def _sample(questions: Sequence[Question], most: int) -> tuple[Question, ...]:
    chosen = random.Random(7).sample(range(len(questions)), min(most, len(questions)))
    return tuple(questions[i] for i in sorted(chosen))


# --- films of our own -------------------------------------------------------------------------------------------------

_RELATIONS = {
    "directed_by": ("who directed", "films by the director of"),
    "written_by": ("who wrote", "films by the writer of"),
    "starred_actors": ("who acts in", "films with an actor of"),
    "has_genre": ("what kind of film is", "films of the kind of"),
    "release_year": ("when was released", "films of the year of"),
    "has_tags": ("how is described", "films described like"),
}
_FRAMES = ("{} {topic}", "tell me {} {topic}", "{} {topic} please", "i wonder {} {topic}")


def _films(scale: Scale) -> tuple[ost.Graph, list[QuestionSet]]:
    """Films with people, kinds, years and tags; people who work much do so in many films."""
    chance = random.Random(11)
    rows = []
    for film in range(_FILMS):
        name = f"Film {film}"
        for role, most in (("directed_by", 1), ("written_by", 2), ("starred_actors", 4)):
            for _ in range(chance.randint(1, most)):
                rows.append((name, role, f"Person {int(_PEOPLE * chance.random() ** 3)}"))
        rows.append((name, "has_genre", f"Genre {int(20 * chance.random() ** 2)}"))
        rows.append((name, "release_year", f"Year {1930 + int(90 * chance.random() ** 0.5)}"))
        rows += [(name, "has_tags", f"Tag {int(500 * chance.random() ** 2)}") for _ in range(chance.randint(0, 4))]
    head, relation, tail = zip(*rows, strict=True)
    graph = ost.graph(pa.table({"head": head, "relation": relation, "tail": tail}))
    sets = []
    for hops in HOPS:
        made = [_question(graph, chance, hops) for _ in range(2 * min(1_000, MOST_QUESTIONS[scale]))]
        half = len(made) // 2
        sets.append(QuestionSet("films", hops, tuple(made[:half]), tuple(made[half:])))
    return graph, sets


def _question(graph: ost.Graph, chance: random.Random, hops: int) -> Question:
    """A question that the graph has an answer to, as all of MetaQA's: one film in five has no tags to ask for."""
    while not (question := _draw(graph, chance, hops)).answers:
        pass
    return question


def _draw(graph: ost.Graph, chance: random.Random, hops: int) -> Question:
    """About a film: one hop asks a relation, two come back to films, three ask a relation of those."""
    topic = f"Film {chance.randrange(_FILMS)}"
    first, last = (chance.choice(list(_RELATIONS)) for _ in range(2))
    asks, shares = _RELATIONS[first]
    if hops == 1:
        words, path = asks, first
    elif hops == 2:
        words, path = shares, f"{first} / ^{first}"
    else:
        words, path = f"{_RELATIONS[last][0]} the {shares}", f"{first} / ^{first} / {last}"
    text = chance.choice(_FRAMES).format(words, topic=topic)
    found = ost.paths(path, start=topic).run(graph)
    ends = {row[-1] for row in found.table["nodes"].to_pylist() if topic not in row[1:]}
    return Question(text, topic, path, frozenset(ends))
