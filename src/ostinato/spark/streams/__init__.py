"""The stream operator: packing, state of buckets, checkpoint, metrics, and the end of input."""
