"""The query of a summary: a regular expression over event types, and its automaton."""
