"""Checkpoints of streams, of whatever system: what end of input decides, and what is open."""
