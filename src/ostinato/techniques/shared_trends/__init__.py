"""Aggregates over all trends of many queries without building the trends (GRETA 2017; HAMLET, SIGMOD 2021)."""
