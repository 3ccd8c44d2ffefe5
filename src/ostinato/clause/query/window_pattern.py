"""A window with a row pattern (SQL:2016 R020), and the values that are called over it, before names are bound.

`local.local_windows.window_columns(pattern, table)` computes them in process. On Spark,
`spark.clause.window_dataframe.with_window_columns(df, pattern)` adds them to a DataFrame.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.query.clause import MatchRecognize
from ostinato.rows.column_names import PREFIX

BEFORE_MATCH = f"{PREFIX}before"
"""The hidden variable of the rows between the current row and the match that SEEK finds. Only plans have it."""


def shown_variable(name: str) -> str:
    """The name of a variable in explanations. The hidden variable has words instead."""
    return "(rows before)" if name == BEFORE_MATCH else name


@dataclass(frozen=True, slots=True)
class WindowPattern:
    """`OVER (PARTITION BY ... ORDER BY ... MEASURES ... ROWS BETWEEN CURRENT ROW AND ... PATTERN ... DEFINE ...)`.

    The rows from the current row to the end of its frame are searched for a match. Each input row gets one value for
    each measure of the clause.
    """

    clause: MatchRecognize
    """The keys, the order, PATTERN, SUBSET, DEFINE, AFTER MATCH SKIP, and a measure for each value that a query wants.

    Everything else has its default: ONE ROW PER MATCH, no match mode, no WITHIN, no MAXLENGTH, no ids. A value is a
    measure of the window or a function over the matched rows. Such a function stands here as an expression of MEASURES:
    `count(*) OVER w` as `count(*)`, `first_value(x) OVER w` as `FIRST(x)`, `last_value(x) OVER w` as `LAST(x)`,
    `nth_value(x, 3) OVER w` as `FIRST(x, 2)`. `text` is the whole statement if spans count in it.
    """
    frame_end: int | None = None
    """The frame ends so many rows after the current one: `n FOLLOWING`. 0: CURRENT ROW. None: UNBOUNDED FOLLOWING."""
    seek: bool = False
    """SEEK: the match may begin later in the frame. INITIAL: it begins at the current row."""
    frame_functions: frozenset[str] = frozenset()
    """The names of the measures that are functions over the matched rows.

    For a row without a match, such a function has its value over no rows: 0 for `count(*)`. A measure is NULL there.
    """
