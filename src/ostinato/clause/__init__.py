"""MATCH_RECOGNIZE, from its text to output rows."""
