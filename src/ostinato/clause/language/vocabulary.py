"""The functions that have a meaning of their own inside MATCH_RECOGNIZE, or are refused there."""

from __future__ import annotations

LOGICAL_NAVIGATION = frozenset({"first", "last"})
PHYSICAL_NAVIGATION = frozenset({"prev", "next"})

AGGREGATE_ALIASES = {
    "mean": "avg",
    "any_value": "first_value",
    "approx_percentile": "percentile_approx",
    "collect_list": "array_agg",
    "collect_set": "array_agg",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "median": "percentile",
    "percentile_cont": "percentile",
    "string_agg": "listagg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
}
"""Other spellings of supported aggregates."""

AGGREGATE_ARGUMENTS: dict[str, tuple[int, int]] = {
    "count": (1, 1),
    "sum": (1, 1),
    "avg": (1, 1),
    "min": (1, 1),
    "max": (1, 1),
    "min_by": (2, 2),
    "max_by": (2, 2),
    "first_value": (1, 2),
    "last_value": (1, 2),
    "array_agg": (1, 1),
    "listagg": (1, 2),
    "percentile": (1, 2),
    "percentile_disc": (1, 1),
    "percentile_approx": (2, 3),
    "count_if": (1, 1),
    "bool_and": (1, 1),
    "bool_or": (1, 1),
    "stddev_samp": (1, 1),
    "stddev_pop": (1, 1),
    "var_samp": (1, 1),
    "var_pop": (1, 1),
}
"""Supported aggregates with the least and the largest number of their arguments."""

ORDERED_AGGREGATES = frozenset({"array_agg", "listagg"})
"""Aggregates whose result depends on the order of the rows. ORDER BY may stand in them."""

PERCENTILES = frozenset({"percentile", "percentile_disc", "percentile_approx"})

EDGE_VALUES = {"first_value": "first", "last_value": "last"}
"""Aggregates that mean FIRST or LAST, unless they skip rows."""

OTHER_AGGREGATES = frozenset(
    """approx_count_distinct bit_and bit_or bit_xor corr count_min_sketch
    covar_pop covar_samp grouping histogram_numeric hll_sketch_agg kurtosis max_by_n
    mode regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness try_avg try_sum""".split()
)
"""Spark's aggregates that aren't supported here. They are refused by name; as plain functions they have no meaning."""

GENERATORS = frozenset("explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple".split())
"""Functions that return several rows."""

WINDOW_FUNCTIONS: dict[str, str | None] = {
    "lag": "write PREV(column, offset)",
    "lead": "write NEXT(column, offset)",
    "nth_value": "write FIRST(column, offset): it counts from 0",
    "row_number": "write COUNT(*): the rows of the match so far",
    **dict.fromkeys(("rank", "dense_rank", "percent_rank", "cume_dist", "ntile")),
}
"""Spark's window functions, with a replacement; a match has no windows."""


def aggregate_name(name: str) -> str | None:
    """The canonical name of a supported aggregate, or None."""
    canonical = AGGREGATE_ALIASES.get(name, name)
    return canonical if canonical in AGGREGATE_ARGUMENTS else None
