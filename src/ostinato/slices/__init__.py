"""One ordered partition on many workers (RIP: run-based intra-query parallelism, DEBS 2013)."""
