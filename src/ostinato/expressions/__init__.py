"""Spark's expressions without a JVM: parsed, typed, evaluated over columns, or lowered to programs for kernels."""
