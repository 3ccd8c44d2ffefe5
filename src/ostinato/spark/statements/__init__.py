"""`ost.sql`: SQL text in which clauses and correlations may stand wherever a table may."""
