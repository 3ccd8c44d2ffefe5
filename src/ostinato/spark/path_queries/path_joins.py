"""Path queries over graphs that are too large for one executor: one round of joins for each edge of a path.

A round joins the partial paths (start, state, node, nodes, relations) with the moves of the automaton, a small table,
and then with the edges of their last nodes. The rows are those of `ost.paths` in process, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.path_queries.automaton.path_automaton import (
    NOWHERE,
    START,
    EdgeSymbols,
    PathAutomaton,
    build_path_automaton,
    symbols_of,
)
from ostinato.path_queries.language.path_query import PathQuery

_MOST_TESTS = 10
_MOST_ROUNDS = 100
"""Spark plans all rounds before the first runs."""
_TEXTS = s.ArrayType(s.StringType())


def paths_dataframe(
    triples: DataFrame,
    queries: Sequence[PathQuery],
    starts: DataFrame | Sequence[str],
    *,
    end: Sequence[str] | None = None,
    simple: bool = False,
    max_hops: int,
    columns: tuple[str, str, str] = ("head", "relation", "tail"),
    node_types: DataFrame | None = None,
) -> DataFrame:
    """The paths: query, start, nodes, relations, end. Nothing runs yet.

    `starts`: nodes, or a DataFrame with them in its only column. Walks longer than `max_hops` aren't followed.
    """
    spark = triples.sparkSession
    for name in columns:
        if name not in triples.columns:
            hint = f"it has {', '.join(triples.columns)}; name them with columns=(head, relation, tail)"
            raise QueryError("UNKNOWN_COLUMN", f"the graph has no column '{name}'", hint=hint)
    symbols = symbols_of(queries)
    classes = _classes(symbols, node_types)
    automaton = build_path_automaton(queries, symbols, classes)
    facts = _facts(triples, columns)
    edges = _edges(facts, symbols, node_types)
    wanted, moves = (F.broadcast(table) for table in _moves(spark, automaton))
    frontier = _first(spark, facts, starts)
    levels = [frontier]
    for _ in range(_rounds(automaton, max_hops)):
        frontier = _longer(frontier, wanted, moves, edges, simple)
        levels.append(frontier)
    accepted = reduce(DataFrame.unionAll, levels).join(F.broadcast(_accepted(spark, automaton, queries)), "state")
    if end is not None:
        accepted = accepted.where(F.col("node").isin(list(end)))
    return accepted.select("query", "start", "nodes", "relations", F.col("node").alias("end"))


def _classes(symbols: EdgeSymbols, node_types: DataFrame | None) -> tuple[int, ...]:
    """All possible classes of nodes: before anything runs, it isn't known which ones occur."""
    if node_types is None:
        return (0,)
    if not isinstance(node_types, DataFrame) or len(node_types.columns) < 2:
        raise QueryError("INVALID_OPTION", "beside a graph in a DataFrame, node_types is a DataFrame of (node, type)")
    if len(symbols.tests) > _MOST_TESTS:
        message = f"queries over a DataFrame may have {_MOST_TESTS} different tests of node types"
        raise QueryError("PATTERN_TOO_LARGE", message, hint="ask them in several calls")
    return tuple(range(1 << len(symbols.tests)))


def _rounds(automaton: PathAutomaton, max_hops: int) -> int:
    """The number of edges of the longest possible path. Raises PATTERN_TOO_LARGE."""
    ahead = {START}
    for hops in range(max_hops):
        if hops > _MOST_ROUNDS:
            message = f"a graph in a DataFrame is walked {_MOST_ROUNDS} edges far at most"
            raise QueryError("PATTERN_TOO_LARGE", message, hint="lower max_hops")
        ahead = {int(to) for state in ahead for to in np.unique(automaton.target[state]) if to != NOWHERE}
        if not ahead:
            return hops
    return max_hops


def _facts(triples: DataFrame, columns: tuple[str, str, str]) -> DataFrame:
    named = [F.col(f"`{name}`").cast("string").alias(alias) for name, alias in zip(columns, "hrt", strict=True)]
    return triples.select(*named).na.drop().distinct()


def _edges(facts: DataFrame, symbols: EdgeSymbols, node_types: DataFrame | None) -> DataFrame:
    """(node, symbol, class, relation, to): each fact forwards and backwards."""
    relation_number = F.lit(len(symbols.names))
    for number, name in enumerate(symbols.names):
        relation_number = F.when(F.col("r") == name, number).otherwise(relation_number)
    directions = [
        facts.select(
            F.col(here).alias("node"),
            (2 * relation_number + inverse).alias("symbol"),
            F.concat(F.lit("^" if inverse else ""), F.col("r")).alias("relation"),
            F.col(there).alias("to"),
        )
        for inverse, here, there in ((0, "h", "t"), (1, "t", "h"))
    ]
    edges = directions[0].unionAll(directions[1])
    if not symbols.tests or node_types is None:
        return edges.withColumn("class", F.lit(0))
    node, kind = node_types.columns[:2]
    passes = [
        F.max(F.when(F.col(f"`{kind}`").cast("string").isin(sorted(wanted)), 1 << number).otherwise(0))
        for number, wanted in enumerate(symbols.tests)
    ]
    bits = node_types.groupBy(F.col(f"`{node}`").cast("string").alias("to")).agg(
        reduce(lambda one, other: one + other, passes).cast("int").alias("class")
    )
    return edges.join(bits, "to", "left").na.fill(0, ["class"])


def _moves(spark: SparkSession, automaton: PathAutomaton) -> tuple[DataFrame, DataFrame]:
    """(state, symbol) that lead anywhere, and (state, symbol, class, target)."""
    rows = [
        (int(state), int(symbol), automaton.classes[node_class], int(automaton.target[state, symbol, node_class]))
        for state, symbol, node_class in np.argwhere(automaton.target != NOWHERE)
    ]
    wanted = sorted({(state, symbol) for state, symbol, _, _ in rows})
    return (
        spark.createDataFrame(wanted, "state int, symbol int"),
        spark.createDataFrame(rows, "state int, symbol int, class int, target int"),
    )


def _accepted(spark: SparkSession, automaton: PathAutomaton, queries: Sequence[PathQuery]) -> DataFrame:
    rows = [
        (state, query.name)
        for state, bits in enumerate(automaton.accepts)
        for number, query in enumerate(queries)
        if bits >> number & 1
    ]
    return spark.createDataFrame(rows, "state int, query string")


def _first(spark: SparkSession, facts: DataFrame, starts: DataFrame | Sequence[str]) -> DataFrame:
    """Partial paths without an edge, at starts that are nodes of the graph."""
    if isinstance(starts, DataFrame):
        nodes = starts.select(F.col(f"`{starts.columns[0]}`").cast("string").alias("node"))
    else:
        nodes = spark.createDataFrame([(name,) for name in starts], "node string")
    graph_nodes = facts.select(F.col("h").alias("node")).unionAll(facts.select("t"))
    return (
        nodes.na.drop()
        .distinct()
        .join(graph_nodes, "node", "left_semi")
        .select(
            F.col("node").alias("start"),
            F.lit(START).alias("state"),
            "node",
            F.array("node").alias("nodes"),
            F.array().cast(_TEXTS).alias("relations"),
        )
    )


def _longer(frontier: DataFrame, wanted: DataFrame, moves: DataFrame, edges: DataFrame, simple: bool) -> DataFrame:
    """The partial paths, extended by one edge."""
    able = frontier.join(wanted, "state")
    walked = able.join(edges, ["node", "symbol"]).join(moves, ["state", "symbol", "class"])
    if simple:
        walked = walked.where(~F.array_contains("nodes", F.col("to")))
    return walked.select(
        "start",
        F.col("target").alias("state"),
        F.col("to").alias("node"),
        F.concat("nodes", F.array("to")).alias("nodes"),
        F.concat("relations", F.array("relation")).alias("relations"),
    )
