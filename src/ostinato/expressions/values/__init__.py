"""Single values and columns of them, by the rules of Spark."""
