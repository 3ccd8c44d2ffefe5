"""A bucket's open windows between two steps of a stream."""
