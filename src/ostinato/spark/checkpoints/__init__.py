"""Checkpoints of streams of any system: the results at end of input, and open partial matches."""
