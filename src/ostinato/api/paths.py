"""`ost.paths`: runs many path queries over a knowledge graph together, with or without a bound.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> films = pa.table(
...     {
...         "head": ["Alila", "Kedma", "Kadosh", "Alila"],
...         "relation": ["written_by", "written_by", "written_by", "has_genre"],
...         "tail": ["Amos Gitai", "Amos Gitai", "Amos Gitai", "Drama"],
...     }
... )
>>> result = ost.paths(films, ["written_by / ^written_by", "has_genre"], start="Alila", simple=True)
>>> print(result.facts())
Alila -[has_genre]-> Drama
Alila -[written_by]-> Amos Gitai <-[written_by]- Kadosh
Alila -[written_by]-> Amos Gitai <-[written_by]- Kedma
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import Clock
from ostinato.path_queries.graph import COLUMNS, Graph, make_graph
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.path_facts import facts_of
from ostinato.path_queries.path_options import PathOptions, node_names, path_options, read_path_queries
from ostinato.path_queries.search.budget import DEFAULT_MAX_HOPS
from ostinato.path_queries.similarity import Similarity
from ostinato.pictures.paths_svg import ShownPath, draw_paths, page
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.path_queries.search.path_search import PathWalk, WalkReport


@dataclass(frozen=True, slots=True)
class PathsResult:
    """The paths of all queries, the best first for each start."""

    table: pa.Table
    """query, start, nodes, relations (`^` before those walked backwards), end, score"""
    report: WalkReport
    unknown: tuple[str, ...] = ()
    """Start and end nodes, relations and node types of the queries that the graph doesn't have."""

    def facts(self, limit: int | None = None) -> str:
        """The paths as lines of text, each once: ready for a prompt."""
        return "\n".join(facts_of(self.table, limit))

    def answers(self) -> list[str]:
        """The last nodes of the paths, the best first, each once."""
        return list(dict.fromkeys(self.table["end"].to_pylist()))

    def svg(self) -> str:
        """Draws the paths as a graph."""
        columns = (self.table[name].to_pylist() for name in ("query", "nodes", "relations"))
        return draw_paths([ShownPath(*row) for row in zip(*columns, strict=True)])

    def html(self) -> str:
        """The drawing of `svg` as a page."""
        return page(self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()


@only_our_errors()
def paths(
    graph: Any,
    queries: Any,
    *,
    start: Any,
    end: str | Sequence[str] | None = None,
    simple: bool = False,
    max_hops: int = DEFAULT_MAX_HOPS,
    max_partial_paths: int | None = None,
    limit: int | None = None,
    latency_bound: Any = None,
    memory_bound: str | int | None = None,
    similarity: Similarity | None = None,
    columns: tuple[str, str, str] = COLUMNS,
    node_types: Any = None,
    clock: Clock | None = None,
    deadline: Duration | None = None,
) -> Any:
    """Returns all paths from the start nodes that match one of the queries, as a `PathsResult`.

    `graph` is a table of (head, relation, tail), or the result of `ost.graph`. A Spark DataFrame of triples is searched
    by joins. Its result is a DataFrame without scores, and it takes no bound and no limit. `queries` are texts, a dict
    of texts by name, or `PathQuery` values. A path may visit a node several times; with `simple` it can't. The search
    doesn't follow paths longer than `max_hops`; `report.too_long` counts them. `limit` keeps the best paths of each
    start. Under a bound ("5 ms", "1 MB") the search keeps the partial paths that are most similar to the queries;
    `report` counts the dropped ones. Without a bound, a search that needs more than `max_partial_paths` (2 million)
    raises TOO_MANY_PARTIAL_PATHS. With a `deadline` ("10 seconds"), a call that takes longer raises DEADLINE_PASSED.
    """
    options = path_options(
        simple=simple,
        max_hops=max_hops,
        max_partial_paths=max_partial_paths,
        limit=limit,
        end=end,
        latency_bound=latency_bound,
        memory_bound=memory_bound,
        similarity=similarity,
        clock=clock,
    )
    path_queries = read_path_queries(queries)
    if is_spark_dataframe(graph):
        refuse_deadline(deadline)
        return _dataframe(graph, path_queries, start, options, columns, node_types)
    starts = node_names("start", start)
    if isinstance(graph, Graph) and (node_types is not None or tuple(columns) != COLUMNS):
        raise QueryError("INVALID_OPTION", "a Graph has its columns and node types already", hint="ost.graph(...)")

    def find_paths() -> PathsResult:
        from ostinato.path_queries.search.path_search import (
            PathWalk,  # loads kernels; a graph in a DataFrame needs none
        )

        loaded_graph = graph if isinstance(graph, Graph) else _load_graph(graph, columns, node_types)
        return walked(PathWalk(loaded_graph, path_queries), starts, options)

    return interruptible(find_paths, deadline)


def _dataframe(
    triples: DataFrame,
    queries: Sequence[PathQuery],
    start: Any,
    options: PathOptions,
    columns: tuple[str, str, str],
    node_types: Any,
) -> DataFrame:
    from ostinato.spark.path_queries.path_joins import paths_dataframe

    if not options.budget.is_none or options.limit is not None or options.max_partial_paths is not None:
        raise QueryError(
            "INVALID_OPTION",
            "a graph in a DataFrame is walked by joins, which know no bound and no limit",
            hint="ost.graph(df.toArrow()) where it fits into memory, or fewer queries and max_hops",
        )
    starts = node_names("start", start) if isinstance(start, str) or not hasattr(start, "sparkSession") else start
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


@only_our_errors()
def graph(
    triples: Any,
    columns: tuple[str, str, str] = COLUMNS,
    node_types: Any = None,
    *,
    deadline: Duration | None = None,
) -> Graph:
    """Creates a graph from a table of triples, to search it many times. `node_types` is a table of (node, type)."""
    settings = Settings()

    def build_graph() -> Graph:
        types = None if node_types is None else as_table(node_types, settings)
        return make_graph(as_table(triples, settings), columns, types)

    return interruptible(build_graph, deadline)


_load_graph = graph
"""Alias for functions with an argument named `graph`."""


def walked(walk: PathWalk, starts: Sequence[str], options: PathOptions) -> PathsResult:
    """The paths of one walk from the start nodes."""
    from ostinato.path_queries.task.walked_paths import walk_paths

    return PathsResult(*walk_paths(walk, starts, options))


__all__ = ["Graph", "PathsResult", "graph", "paths"]
