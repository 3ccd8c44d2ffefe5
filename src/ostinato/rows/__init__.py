"""Rows as every engine reads and writes them: batches, ordering, matches, and the tables of callers."""
