"""`ost.paths`: path queries over a knowledge graph, many at once, perhaps under a bound.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> films = pa.table(
...     {
...         "head": ["Alila", "Kedma", "Kadosh", "Alila"],
...         "relation": ["written_by", "written_by", "written_by", "has_genre"],
...         "tail": ["Amos Gitai", "Amos Gitai", "Amos Gitai", "Drama"],
...     }
... )
>>> found = ost.paths(films, ["written_by / ^written_by", "has_genre"], start="Alila", simple=True)
>>> print(found.facts())
Alila -[has_genre]-> Drama
Alila -[written_by]-> Amos Gitai <-[written_by]- Kadosh
Alila -[written_by]-> Amos Gitai <-[written_by]- Kedma
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import QueryError, did_you_mean
from ostinato.language.path_query import path_query
from ostinato.predicates.types import Settings
from ostinato.query.path_query import PathQuery
from ostinato.results.paths_svg import ShownPath, draw_paths, page
from ostinato.runtimes.local import as_table
from ostinato.sharing.bounds import read_bounds
from ostinato.sharing.clock import Clock, RealClock
from ostinato.techniques.path_queries.budget import Budget
from ostinato.techniques.path_queries.found_table import found_table
from ostinato.techniques.path_queries.graph import Graph, make_graph
from ostinato.techniques.path_queries.search import DEFAULT_MAX_HOPS, PathWalk, WalkReport, WalkTerms
from ostinato.techniques.path_queries.selection import (
    AtRandom,
    BySelectivity,
    BySimilarity,
    Chooser,
    Contributions,
)
from ostinato.techniques.path_queries.similarity import Similarity, TokenOverlap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHEDDING: Mapping[str, Callable[[Similarity], Chooser]] = {
    "sharp": BySimilarity,
    "random_state": lambda similarity: AtRandom(),
    "selectivity": lambda similarity: BySelectivity(),
}
"""How to choose what is walked on under a bound."""


@dataclass(frozen=True, slots=True)
class PathOptions:
    """How paths are walked: see `paths`."""

    simple: bool = False
    max_hops: int = DEFAULT_MAX_HOPS
    limit: int | None = None
    end: tuple[str, ...] | None = None
    budget: Budget = field(default_factory=Budget)
    shedding: str = "sharp"
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_hops", 0), ("limit", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise QueryError("INVALID_OPTION", f"{name} is a whole number from {least} on, not {value!r}")
        if self.shedding not in SHEDDING:
            hint = did_you_mean(self.shedding, SHEDDING) or f"there are {', '.join(SHEDDING)}"
            raise QueryError("INVALID_OPTION", f"shedding can't be {self.shedding!r}", hint=hint)


@dataclass(frozen=True, slots=True)
class PathsResult:
    """The paths of all queries, the best first for each start."""

    table: pa.Table
    """query, start, nodes, relations (`^` before those walked backwards), end, score"""
    report: WalkReport
    unknown: tuple[str, ...] = ()
    """Start nodes, relations and node types of the queries that the graph doesn't have."""

    def facts(self, limit: int | None = None) -> str:
        """The paths as lines of text, each once: ready for a prompt."""
        return "\n".join(facts_of(self.table, limit))

    def answers(self) -> list[str]:
        """Where the paths end, the best first, each once."""
        return list(dict.fromkeys(self.table["end"].to_pylist()))

    def svg(self) -> str:
        """The part of the graph that the paths walk, drawn."""
        columns = (self.table[name].to_pylist() for name in ("query", "nodes", "relations"))
        return draw_paths([ShownPath(*row) for row in zip(*columns, strict=True)])

    def html(self) -> str:
        """The same as a page."""
        return page(self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()


def facts_of(table: pa.Table, limit: int | None = None) -> list[str]:
    """The first paths of a table as lines, each once; one without an edge says nothing."""
    lines: dict[str, None] = {}
    for nodes, relations in zip(table["nodes"], table["relations"], strict=True):
        if limit is not None and len(lines) >= limit:
            break
        if len(relations):
            lines[path_text(nodes.as_py(), relations.as_py())] = None
    return list(lines)


def path_text(nodes: Sequence[str], relations: Sequence[str]) -> str:
    """One path as a line.

    >>> path_text(["Alila", "Amos Gitai", "Kedma"], ["written_by", "^written_by"])
    'Alila -[written_by]-> Amos Gitai <-[written_by]- Kedma'
    """
    parts = [nodes[0]] if nodes else []
    for relation, node in zip(relations, nodes[1:], strict=True):
        parts.append(f"<-[{relation[1:]}]-" if relation.startswith("^") else f"-[{relation}]->")
        parts.append(node)
    return " ".join(parts)


def paths(
    graph: Any,
    queries: Any,
    *,
    start: Any,
    end: str | Sequence[str] | None = None,
    simple: bool = False,
    max_hops: int = DEFAULT_MAX_HOPS,
    limit: int | None = None,
    latency_bound: Any = None,
    memory_bound: str | int | None = None,
    shedding: str = "sharp",
    similarity: Similarity | None = None,
    columns: tuple[str, str, str] = ("head", "relation", "tail"),
    node_types: Any = None,
    clock: Clock | None = None,
) -> Any:
    """All paths from the start nodes that are words of the queries, as a `PathsResult`.

    `graph` is a table of (head, relation, tail), or a Graph that `ost.graph` made of one; a Spark DataFrame of triples
    is walked by joins and gives a DataFrame, without a score, a bound or a limit. `queries` are texts, perhaps
    by name, or `PathQuery` values. Paths are walks; with `simple` no node comes twice. Walks longer than `max_hops`
    aren't followed, which `report.too_long` counts. `limit` keeps the best paths of each start. A bound ("5 ms",
    "1 MB") keeps the partial paths that are most like the queries, by `shedding`; `report` says what was given up.
    """
    options = path_options(
        simple=simple,
        max_hops=max_hops,
        limit=limit,
        end=end,
        latency_bound=latency_bound,
        memory_bound=memory_bound,
        shedding=shedding,
        similarity=similarity,
        clock=clock,
    )
    asked = read_path_queries(queries)
    if graph.__class__.__module__.split(".")[0] == "pyspark":
        return _dataframe(graph, asked, start, options, columns, node_types)
    known = graph if isinstance(graph, Graph) else _read_graph(graph, columns, node_types)
    return walk_paths(PathWalk(known, asked), _names(start), options)


def _dataframe(
    triples: DataFrame,
    queries: Sequence[PathQuery],
    start: Any,
    options: PathOptions,
    columns: tuple[str, str, str],
    node_types: Any,
) -> DataFrame:
    from ostinato.runtimes.spark.paths import paths_dataframe

    if not options.budget.is_none or options.limit is not None:
        raise QueryError(
            "INVALID_OPTION",
            "a graph in a DataFrame is walked by joins, which know no bound and no limit",
            hint="ost.graph(df.toArrow()) where it fits into memory, or fewer queries and max_hops",
        )
    starts = _names(start) if isinstance(start, str) or not hasattr(start, "sparkSession") else start
    return paths_dataframe(
        triples,
        queries,
        starts,
        end=options.end,
        simple=options.simple,
        max_hops=options.max_hops,
        columns=columns,
        node_types=node_types,
    )


def graph(triples: Any, columns: tuple[str, str, str] = ("head", "relation", "tail"), node_types: Any = None) -> Graph:
    """A table of triples, and perhaps one of (node, type), as a graph to ask many times."""
    settings = Settings()
    types = None if node_types is None else as_table(node_types, settings)
    return make_graph(as_table(triples, settings), columns, types)


_read_graph = graph
"""Where an argument has the name."""


def path_options(
    *,
    end: str | Sequence[str] | None = None,
    latency_bound: Any = None,
    memory_bound: str | int | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> PathOptions:
    """Checks what was asked for. Raises INVALID_OPTION, INVALID_BOUND."""
    bounds = read_bounds(["paths"], latency_bound=latency_bound, memory_bound=memory_bound)
    (latency,) = bounds.latency
    if latency is not None and latency.ns is None:
        raise QueryError(
            "INVALID_BOUND",
            f"latency_bound is {latency_bound!r}: what a walk takes without a bound isn't known",
            hint="give a time, such as '5 ms'",
        )
    budget = Budget(None if latency is None else latency.ns, bounds.memory_bytes, clock or RealClock())
    return PathOptions(end=None if end is None else _names(end), budget=budget, **options)


def read_path_queries(queries: Any) -> tuple[PathQuery, ...]:
    """Texts or PathQuery values, one or many, perhaps by name."""
    if isinstance(queries, str | PathQuery):
        queries = [queries]
    if isinstance(queries, Mapping):
        asked = [_query(value, str(name)) for name, value in queries.items()]
    else:
        asked = [_query(value, "") for value in queries]
    if not asked:
        raise QueryError("INVALID_OPTION", "there is no path query", hint="ost.paths(graph, 'a / ^b', start=...)")
    return tuple(asked)


def _query(value: Any, name: str) -> PathQuery:
    if isinstance(value, PathQuery):
        return replace(value, name=name) if name else value
    if not isinstance(value, str):
        raise QueryError("NOT_A_QUERY", f"expected the text of a path query, got {value.__class__.__name__}")
    return path_query(value, name)


def _names(nodes: str | Sequence[str]) -> tuple[str, ...]:
    return (nodes,) if isinstance(nodes, str) else tuple(dict.fromkeys(nodes))


def walk_paths(walk: PathWalk, starts: Sequence[str], options: PathOptions) -> PathsResult:
    """One walk from some nodes, as a table."""
    graph = walk.graph
    numbers = graph.numbers(starts)
    similarity = options.similarity or _overlap(graph)
    terms = WalkTerms(options.simple, options.max_hops, _ends(graph, options.end), options.budget)
    found = walk.find(numbers, terms, SHEDDING[options.shedding](similarity))
    scores = Contributions(walk, similarity).of(found.store, found.path, found.query)
    unknown = [name for name, number in zip(starts, numbers, strict=True) if number < 0]
    table = found_table(walk, found, scores, options.limit)
    return PathsResult(table, found.report, tuple(dict.fromkeys([*unknown, *_unknown(walk)])))


@functools.lru_cache(maxsize=16)
def _overlap(graph: Graph) -> TokenOverlap:
    return TokenOverlap(graph)


def _ends(graph: Graph, end: tuple[str, ...] | None) -> NDArray[np.bool_] | None:
    if end is None:
        return None
    allowed = np.zeros(len(graph.nodes), np.bool_)
    numbers = graph.numbers(end)
    allowed[numbers[numbers >= 0]] = True
    return allowed


def _unknown(walk: PathWalk) -> list[str]:
    relations = [name for query in walk.queries for name in query.relations() if name not in walk.graph.relations]
    types = [name for query in walk.queries for name in sorted(query.node_types()) if name not in walk.graph.types]
    return [*relations, *types]


__all__ = ["Graph", "PathOptions", "PathsResult", "graph", "path_options", "paths", "walk_paths"]
