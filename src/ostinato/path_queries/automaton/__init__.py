"""Path queries -> one automaton over the edges of a graph."""
