"""The shared matcher: all patterns of a group with one state, exact."""
