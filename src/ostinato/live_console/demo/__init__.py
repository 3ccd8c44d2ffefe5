"""Generated trades and rules: in process first, then on Spark."""
