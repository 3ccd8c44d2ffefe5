"""Integers of any size, and doubles with an exponent of their own, inside kernels and as columns."""
