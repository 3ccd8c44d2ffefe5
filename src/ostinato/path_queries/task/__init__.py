"""A graph, path queries and start nodes in, a table of paths out."""
