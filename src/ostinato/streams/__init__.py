"""What every stream needs and Spark has no part in: intake by watermark, buckets, state as bytes."""
