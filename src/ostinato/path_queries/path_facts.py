"""The columns of a table of paths, and its paths as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("start", pa.string()),
        ("nodes", pa.list_(pa.string())),
        ("relations", pa.list_(pa.string())),
        ("end", pa.string()),
        ("score", pa.float64()),
    ]
)
"""`relations` has `^` before relations walked backwards. `nodes` has one entry more, the start first."""


def facts_of(table: pa.Table, limit: int | None) -> list[str]:
    """The first paths of a table as distinct lines. Paths without an edge are left out."""
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
    words = [nodes[0]] if nodes else []
    for relation, node in zip(relations, nodes[1:], strict=True):
        words.append(f"<-[{relation[1:]}]-" if relation.startswith("^") else f"-[{relation}]->")
        words.append(node)
    return " ".join(words)
