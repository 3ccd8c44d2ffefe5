"""Questions in words: proposers make path queries of them, answerers make answers of the paths."""
