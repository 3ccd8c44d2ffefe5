"""A story and its table -> one match as a text chart, before Spark has started and before anything is compiled.

The reference implementation finds it in plain Python. It is slow, but a thousand rows take it less than a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.reference.clause_oracle import Match
    from ostinato.report.stories import Story

_ROWS_READ = 1_000
_HEIGHT = 9


def first_look(story: Story, table: pa.Table, width: int) -> str | None:
    """A sentence and a chart; None if the first rows of the table have no match."""
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.reference.clause_oracle import find_matches, sorted_partitions

    rows = table.slice(0, _ROWS_READ)
    partition = next(sorted_partitions(parse_clause(story.clause), rows.column_names, rows.to_pylist()))
    matches = find_matches(partition.query, partition.scope, partition.rows)
    if not matches:
        return None

    def prices(match: Match) -> list[Any]:
        return [row["price"] for row in partition.rows[match.start : match.end]]

    def labels(match: Match) -> list[str]:
        return [label.variable for label in match.labels]

    clearest = max(matches, key=lambda match: story.clarity(labels(match), prices(match)))
    first, last = partition.rows[clearest.start], partition.rows[clearest.end - 1]
    sentence = (
        f"A match, found by plain Python in the first {rows.num_rows:,} trades: {first[story.key]}, "
        f"{first['ts']:%d %B %Y, %H:%M} to {last['ts']:%H:%M}. Each letter is a trade."
    )
    return f"{sentence}\n\n{letter_chart(prices(clearest), labels(clearest), width)}"


def letter_chart(values: Sequence[float], labels: Sequence[str], width: int) -> str:
    """One letter for each value, at the height of the value. Values are left out evenly if there are too many.

    >>> print(letter_chart([1.0, 2.0, 9.0, 5.0], "ABCD", 40))
        9.00 |   C
             |
             |
             |
             |    D
             |
             |
             |  B
        1.00 | A
    """
    low, high = min(values), max(values)
    step = -(-len(values) // max(1, width - 15))
    lines = [[" "] * len(range(0, len(values), step)) for _ in range(_HEIGHT)]
    for column, row in enumerate(range(0, len(values), step)):
        level = round((values[row] - low) / ((high - low) or 1.0) * (_HEIGHT - 1))
        lines[_HEIGHT - 1 - level][column] = labels[row][0]
    ends = {0: f"{high:,.2f}", _HEIGHT - 1: f"{low:,.2f}"}
    return "\n".join(f"{ends.get(i, ''):>8} | {''.join(line)}".rstrip() for i, line in enumerate(lines))
