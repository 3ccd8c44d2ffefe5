"""Text of a correlation -> Correlation: two clauses joined by RECENT."""
