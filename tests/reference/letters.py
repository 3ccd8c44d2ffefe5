"""Letters for rows: a row of kind 'A' per letter, and a variable X that takes rows of kind 'X'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.query.pattern import variables
from ostinato.reference import match_rows


def ask(clause: str, rows: Sequence[Mapping[str, object]], **options: bool) -> list[dict[str, object]]:
    """The clause over rows that all have the same columns."""
    columns = list(rows[0]) if rows else ["n"]
    return match_rows(parse_clause(clause), columns, rows, **options)


def letters(text: str) -> list[dict[str, object]]:
    return [{"n": n, "kind": kind} for n, kind in enumerate(text)]


def kinds(pattern: str) -> str:
    """DEFINE with X AS kind = 'X' for every variable of the pattern, but ANY, which takes every row."""
    names = [name for name in variables(parse_row_pattern(pattern)) if name != "ANY"]
    return "DEFINE " + ", ".join(f"{name} AS kind = '{name}'" for name in names) if names else ""


def match(pattern: str, text: str, *, after: str = "", define: str | None = None) -> list[tuple[int, int]]:
    """First and last row of every match; an empty match is (start, start - 1)."""
    define = kinds(pattern) if define is None else define
    shown = ask(
        f"ORDER BY n MEASURES first(n) AS f, last(n) AS l, match_number() AS m {after} PATTERN ({pattern}) {define}",
        letters(text),
    )
    return [(row["f"], row["l"]) if row["f"] is not None else EMPTY for row in shown]  # type: ignore[misc]


EMPTY = (-1, -1)
"""How `match` shows an empty match."""


def labels(pattern: str, text: str, *, after: str = "", define: str = "") -> list[str]:
    """The classifiers of every match in one word; conditions beyond those given are TRUE."""
    shown = ask(
        f"ORDER BY n MEASURES array_agg(classifier()) AS l {after} PATTERN ({pattern}) {define}",
        letters(text),
    )
    return ["".join(row["l"]) for row in shown]  # type: ignore[arg-type]
