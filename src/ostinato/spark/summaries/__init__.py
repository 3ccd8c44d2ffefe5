"""Stream summaries on DataFrames."""
