"""Aggregates over all matches without listing them (GRETA 2017; HAMLET, SIGMOD 2021)."""
