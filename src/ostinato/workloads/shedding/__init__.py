"""SHARP: which partial matches are kept when a bound on time or memory would be missed."""
