"""`ost.paths`: many path queries over a knowledge graph that run together, with or without a bound.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> films = pa.table(
...     {
...         "head": ["Alila", "Kedma", "Kadosh", "Alila"],
...         "relation": ["written_by", "written_by", "written_by", "has_genre"],
...         "tail": ["Amos Gitai", "Amos Gitai", "Amos Gitai", "Drama"],
...     }
... )
>>> query = ost.paths(["written_by / ^written_by", "has_genre"], start="Alila", simple=True)
>>> result = query.run(films)
>>> print(result.facts())
Alila -[has_genre]-> Drama
Alila -[written_by]-> Amos Gitai <-[written_by]- Kadosh
Alila -[written_by]-> Amos Gitai <-[written_by]- Kedma
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ostinato.api.plot_object import Plot
from ostinato.api.query import LocalCall, Query
from ostinato.api.results import Result, RunReport, small_table_like
from ostinato.calls.bounds import Duration, LatencyRequest
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import whole_number
from ostinato.calls.shown_objects import short_repr, text_block
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import Clock
from ostinato.path_queries.graph import COLUMNS, Graph, make_graph
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.path_facts import facts_of
from ostinato.path_queries.path_options import PathOptions, node_names, path_options, read_path_queries
from ostinato.path_queries.search.budget import DEFAULT_MAX_HOPS
from ostinato.path_queries.similarity import Similarity
from ostinato.pictures.html_blocks import svg_block
from ostinato.pictures.paths_svg import ShownPath, draw_paths
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe, is_table, spark_dataframe
from ostinato.rows.table_kinds import like

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.path_queries.search.path_search import WalkReport
    from ostinato.path_queries.task.walked_paths import WalkedPaths
    from ostinato.rows.table_kinds import TableLike

T = TypeVar("T")
PathQueries = str | PathQuery | Iterable[str | PathQuery] | Mapping[str, str | PathQuery]
"""One or several path queries, perhaps by name."""
Nodes = str | int | Iterable[str | int]
"""One node or several, by name. A whole number stands for its digits."""


@dataclass(frozen=True, slots=True, repr=False)
class PathsResult(Result[T]):
    """The paths of all queries, the best first for each start.

    `table` has query, start, nodes, relations (`^` before those walked backwards), end and score. On Spark the paths
    are in any order, and their score is NULL. `report.table` has a row for each query, with its dropped partial paths.
    """

    walk: WalkReport | None = None
    """The work of a search in this process. None on Spark."""
    unknown: tuple[str, ...] = ()
    """Start and end nodes, relations and node types of the queries that the graph doesn't have. Empty on Spark."""

    @only_our_errors()
    def facts(self, limit: int | None = None) -> str:
        """The paths as lines of text, each once: ready for a prompt."""
        if limit is not None:
            whole_number("limit", limit, least=0)
        return "\n".join(facts_of(self._arrow(), limit))

    def answers(self) -> list[str]:
        """The last nodes of the paths, the best first, each once."""
        return list(dict.fromkeys(self._arrow()["end"].to_pylist()))

    @only_our_errors()
    def plot(self) -> Plot:
        """Draws the paths as a graph. On Spark this runs the search, and collects the paths."""
        table = self._arrow()
        columns = (table[name].to_pylist() for name in ("query", "nodes", "relations"))
        drawing = draw_paths([ShownPath(*row) for row in zip(*columns, strict=True)])
        return Plot(f"{table.num_rows:,} paths", drawing)

    def _repr_html_(self) -> str:
        if is_spark_dataframe(self.table):  # showing a result starts no job
            return text_block(repr(self))
        return svg_block(self.plot().svg) + text_block(str(self.report))

    def _arrow(self) -> pa.Table:
        """The paths as an Arrow table. On Spark this runs the search, and collects the paths."""
        if is_spark_dataframe(self.table):
            return self.table.toArrow()  # type: ignore[attr-defined]
        return as_table(self.table, Settings())


@dataclass(frozen=True, slots=True, repr=False)
class PathsQuery(Query):
    """Path queries from some start nodes. `run(graph)` answers them."""

    queries: tuple[PathQuery, ...]
    start: Any
    options: PathOptions
    columns: tuple[str, str, str] = COLUMNS
    node_types: Any = None

    @only_our_errors()
    def run(self, graph: T, *, deadline: Duration | None = None) -> PathsResult[T]:
        """Returns all paths from the start nodes that match one of the queries.

        `graph` is an `ost.graph(...)`, a table of (head, relation, tail) of any kind that `ost.match` takes, or a Spark
        DataFrame of triples. Spark searches a DataFrame by joins, which know no bound and no limit. With a `deadline`
        ("10 seconds"), a search in this process that takes longer raises DEADLINE_PASSED.
        """
        if is_spark_dataframe(graph):
            refuse_deadline(deadline)
            return self._on_spark(graph)
        return self.result(graph, interruptible(lambda: self._found(graph), deadline))

    def result(self, graph: T, found: WalkedPaths) -> PathsResult[T]:
        """The result of a search in this process, in the kind of the graph's table."""
        report = RunReport(walk_text(found.report), like(graph, walk_table(self.queries, found.report)))
        return PathsResult(self, like(graph, found.table), report, graph, found.report, found.unknown)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the paths in a DataFrame of triples: `run(df).table`."""
        spark_dataframe(df, hint="ost.match(paths, table) answers it in this process")
        return self.run(df).table

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the paths in a table of triples."""
        call.settings_of_one_thread()
        return self._found(table).table

    def _found(self, triples: Any) -> WalkedPaths:
        from ostinato.path_queries.search.path_search import PathWalk  # loads kernels; a DataFrame needs none
        from ostinato.path_queries.task.walked_paths import walk_paths

        if isinstance(triples, Graph) and (self.node_types is not None or self.columns != COLUMNS):
            raise QueryError("INVALID_OPTION", "a Graph has its columns and node types already", hint="ost.graph(...)")
        loaded = triples if isinstance(triples, Graph) else graph(triples, self.columns, self.node_types)
        return walk_paths(PathWalk(loaded, self.queries), node_names("start", self.start), self.options)

    def _on_spark(self, triples: Any) -> PathsResult[Any]:
        from ostinato.spark.path_queries.path_joins import paths_dataframe

        options = self.options
        if not options.budget.is_none or options.limit is not None or options.max_partial_paths is not None:
            raise QueryError(
                "INVALID_OPTION",
                "a graph in a DataFrame is walked by joins, which know no bound and no limit",
                hint="ost.graph(df.toArrow()) where it fits into memory, or fewer queries and max_hops",
            )
        is_frame = hasattr(self.start, "sparkSession")
        rows = paths_dataframe(
            triples,
            self.queries,
            self.start if is_frame else node_names("start", self.start),
            end=options.end,
            simple=options.simple,
            max_hops=options.max_hops,
            columns=self.columns,
            node_types=self.node_types,
        )
        text = f"Spark searches by joins. It drops no path, and follows none beyond {options.max_hops} edges."
        rows = rows.selectExpr("*", "CAST(NULL AS DOUBLE) AS score")  # the columns are those in process
        report = RunReport(text, small_table_like(triples, walk_table(self.queries, None)))
        return PathsResult(self, rows, report, triples)

    def _shown(self) -> str:
        return "\n".join(query.text for query in self.queries)

    def __repr__(self) -> str:
        return short_repr(self, ", ".join(query.text for query in self.queries))


def walk_text(report: WalkReport) -> str:
    """The report of a search as a sentence or two."""
    searched = f"{report.partial_paths:,} partial paths in {report.elapsed_ns / 1e6:,.3g} ms"
    if report.complete:
        return f"{searched}; the search found all paths"
    dropped = f"{sum(report.given_up):,} partial paths dropped, {report.cut_edges:,} edges not followed"
    return f"{searched}; some paths may be missing: {dropped}, {report.too_long:,} paths longer than max_hops"


def walk_table(queries: Sequence[PathQuery], report: WalkReport | None) -> pa.Table:
    """A row for each query. Without a report, nothing was dropped, and it isn't known whether max_hops ended a path."""
    dropped = [0] * len(queries) if report is None else list(report.given_up)
    complete = None if report is None else report.complete
    return pa.table(
        {
            "query": pa.array([query.name or query.text for query in queries], pa.string()),
            "dropped": pa.array(dropped, pa.int64()),
            "complete": pa.array([complete] * len(queries), pa.bool_()),
        }
    )


@only_our_errors()
def paths(
    queries: PathQueries,
    *,
    start: Nodes | DataFrame,
    end: Nodes | None = None,
    simple: bool = False,
    max_hops: int = DEFAULT_MAX_HOPS,
    max_partial_paths: int | None = None,
    limit: int | None = None,
    latency_bound: LatencyRequest | None = None,
    memory_bound: str | int | None = None,
    similarity: Similarity | None = None,
    columns: tuple[str, str, str] = COLUMNS,
    node_types: TableLike | DataFrame | None = None,
    clock: Clock | None = None,
) -> PathsQuery:
    """Creates a query for all paths from the start nodes that match one of the path queries. `run(graph)` answers it.

    `queries` are texts, a dict of texts by name, or `PathQuery` values. `start` is a node or several; on Spark it may
    be a DataFrame with them in its only column. A path may visit a node several times; with `simple` it can't. The
    search doesn't follow paths longer than `max_hops`. `limit` keeps the best paths of each start. Under a bound
    ("5 ms", "1 MB") the search keeps the partial paths that are most similar to the queries; the report counts the
    dropped ones. Without a bound, a search that needs more than `max_partial_paths` (2 million) raises
    TOO_MANY_PARTIAL_PATHS. `columns` are the columns of the triples, `node_types` is a table of (node, type).

    >>> import pyarrow as pa
    >>> films = pa.table({"head": ["Alila"], "relation": ["written_by"], "tail": ["Amos Gitai"]})
    >>> paths("written_by", start="Alila").run(films).answers()
    ['Amos Gitai']
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
    if isinstance(queries, Graph) or is_table(queries):
        hint = "ost.paths(queries, start=...).run(graph)"
        raise QueryError("NOT_A_QUERY", f"expected path queries, got {type(queries).__name__}", hint=hint)
    if not hasattr(start, "sparkSession"):
        node_names("start", start)
    return PathsQuery(read_path_queries(queries), start, options, columns, node_types)


@only_our_errors()
def graph(
    triples: TableLike,
    columns: tuple[str, str, str] = COLUMNS,
    node_types: TableLike | None = None,
    *,
    deadline: Duration | None = None,
) -> Graph:
    """Creates a graph from a table of triples, to search it many times. `node_types` is a table of (node, type).

    >>> import pyarrow as pa
    >>> graph(pa.table({"head": ["Alila"], "relation": ["written_by"], "tail": ["Amos Gitai"]})).edge_count
    1
    """
    settings = Settings()

    def build_graph() -> Graph:
        types = None if node_types is None else as_table(node_types, settings)
        return make_graph(as_table(triples, settings), columns, types)

    return interruptible(build_graph, deadline)


__all__ = ["Graph", "PathsQuery", "PathsResult", "graph", "paths"]
