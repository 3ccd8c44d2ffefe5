"""Bound clause -> plan: what is computed where, which engine matches, and why the others declined."""
