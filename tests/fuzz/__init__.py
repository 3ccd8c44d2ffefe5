"""A seeded fuzzer for the six languages: texts that are nearly right, and the contract that only our errors come out.

`python -m tests.fuzz --minutes 5 --seed 1` runs for some time and prints what it finds, made small, with its seed.
"""
