"""Path queries over a knowledge graph (SHARP on graphs): many patterns walked together, under a bound."""
