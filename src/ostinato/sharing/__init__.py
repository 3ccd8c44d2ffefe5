"""What queries of one workload have in common: sub-patterns they can share, and one template for all of them."""
