"""Queries over tables in this process: expressions are evaluated here, no JVM."""
