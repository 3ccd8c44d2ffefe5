"""A correlation of a stream with its own recent history: the core that advances a bucket of keys."""
