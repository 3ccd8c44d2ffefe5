"""Workloads on DataFrames."""
