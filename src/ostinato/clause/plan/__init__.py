"""Bound clause -> plan: where each expression is computed, the engine that matches, and why others declined."""
