"""The common table of a workload: its rows at workers and on the driver, and the definition of its streams."""
