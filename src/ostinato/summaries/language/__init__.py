"""What a summary is asked for: a regular expression over event types, and its automaton."""
