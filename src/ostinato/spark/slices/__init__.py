"""One order cut over all tasks."""
