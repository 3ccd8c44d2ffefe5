"""Counters, benefits and strategies: events in, a summary of bounded size out, and its answers."""
