"""A bucket's open rows between two steps of a stream."""
