"""Questions in words: proposers of path queries, and what turns paths into answers."""
