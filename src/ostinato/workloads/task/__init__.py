"""Rows of whole keys -> the output rows of every query of a workload."""
