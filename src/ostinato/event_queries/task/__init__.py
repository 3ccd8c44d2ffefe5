"""Rows of whole groups -> the output columns of each query."""
