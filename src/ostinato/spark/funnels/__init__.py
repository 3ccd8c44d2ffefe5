"""Funnels on DataFrames."""
