"""Structured Streaming measured: throughput, state, the choice of buckets, and a soak. `python -m benchmarks streaming`."""
