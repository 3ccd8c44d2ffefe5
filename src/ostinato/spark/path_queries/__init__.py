"""Path queries and questions on DataFrames."""
