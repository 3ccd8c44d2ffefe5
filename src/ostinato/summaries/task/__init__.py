"""Columns of a table -> events of summaries; their answers -> Arrow columns."""
