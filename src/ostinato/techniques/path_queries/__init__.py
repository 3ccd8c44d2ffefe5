"""SHARP on graphs: many path queries over a knowledge graph, walked together, under a bound."""
