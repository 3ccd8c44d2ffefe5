"""Event pattern -> deterministic automaton over its variables."""
