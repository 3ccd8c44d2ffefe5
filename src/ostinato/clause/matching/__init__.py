"""Exact matching, compiled: sorted rows and an automaton in, matches out."""
