"""A bucket's summaries between two steps of a stream."""
