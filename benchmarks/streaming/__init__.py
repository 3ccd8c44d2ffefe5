"""Structured Streaming measured: `python -m benchmarks streaming`, and the soak beside it."""
