"""Queries of a workload -> groups that one matcher runs together, each as a pattern program."""
