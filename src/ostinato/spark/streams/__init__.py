"""The stream operator: packing, state per bucket, checkpoint, metrics, and what end of input decides."""
