"""Rows of whole keys -> output rows, the same in process and on Spark."""
