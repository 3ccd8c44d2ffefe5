"""The oracle: MATCH_RECOGNIZE by brute force, slow and obvious, independent of everything compiled."""

from ostinato.reference.oracle import match_rows

__all__ = ["match_rows"]
