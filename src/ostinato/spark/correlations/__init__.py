"""Correlations on DataFrames, batch and streaming."""
