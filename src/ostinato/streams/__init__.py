"""Shared by all streams, without Spark: intake by watermark, buckets, state as bytes."""
