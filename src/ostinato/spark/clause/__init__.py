"""MATCH_RECOGNIZE on DataFrames, alone or anywhere in SQL text."""
