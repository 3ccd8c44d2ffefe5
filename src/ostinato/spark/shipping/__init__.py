"""Shipping of rows to workers: columns and types, size estimates, errors, and the check of the workers' packages."""
