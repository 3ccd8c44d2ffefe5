"""Comparators of SHARP: other shedding policies, and partial matches that copy their rows."""
