"""SHARP's figures again: many patterns, one state, one latency bound."""
