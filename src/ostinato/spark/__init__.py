"""Spark, classic and Connect. The only folder that imports pyspark, and only its public API."""
