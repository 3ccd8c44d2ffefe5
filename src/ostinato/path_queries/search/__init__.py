"""Automaton and graph -> paths, under a budget."""
