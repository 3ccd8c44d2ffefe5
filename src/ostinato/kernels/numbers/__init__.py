"""Numbers beyond 64 bits and beyond doubles, inside kernels and as columns. docs/numbers.md says when which is used."""
