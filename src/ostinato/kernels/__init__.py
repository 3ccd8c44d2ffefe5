"""Compiled code: how kernels are compiled, stored and stopped, and the constants that they share with planning."""
