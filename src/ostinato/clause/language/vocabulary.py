"""The functions that have a meaning of their own inside MATCH_RECOGNIZE, or are refused there."""

from __future__ import annotations

LOGICAL_NAVIGATION = frozenset({"first", "last"})
PHYSICAL_NAVIGATION = frozenset({"prev", "next"})

AGGREGATE_ALIASES = {
    "mean": "avg",
    "collect_list": "array_agg",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
}
"""Other spellings of supported aggregates."""

AGGREGATE_ARGUMENTS = {
    "count": 1,
    "sum": 1,
    "avg": 1,
    "min": 1,
    "max": 1,
    "min_by": 2,
    "max_by": 2,
    "array_agg": 1,
    "count_if": 1,
    "bool_and": 1,
    "bool_or": 1,
    "stddev_samp": 1,
    "stddev_pop": 1,
    "var_samp": 1,
    "var_pop": 1,
}
"""Supported aggregates with the number of their arguments."""

OTHER_AGGREGATES = frozenset(
    """any_value approx_count_distinct approx_percentile bit_and bit_or bit_xor collect_set corr count_min_sketch
    covar_pop covar_samp first_value grouping histogram_numeric hll_sketch_agg kurtosis last_value listagg max_by_n
    median mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness string_agg try_avg try_sum""".split()
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
