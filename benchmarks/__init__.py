"""What Ostinato is measured by: `python -m benchmarks NAME [--scale small|full] [--json FILE] [--plot DIR]`."""
