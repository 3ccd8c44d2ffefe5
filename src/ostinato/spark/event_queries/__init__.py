"""Event queries on DataFrames."""
