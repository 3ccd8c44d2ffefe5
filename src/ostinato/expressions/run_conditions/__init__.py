"""Conditions over the rows of a match so far, as small programs that kernels interpret or compile."""
