"""Patterns of one workload -> one graph in which equal sub-patterns are matched once. No rows here."""
