"""A bucket's partial matches between two steps of a stream."""
