"""Trend aggregation measured (HAMLET, SIGMOD 2021): other ways to the same numbers, and the engines beside them."""
