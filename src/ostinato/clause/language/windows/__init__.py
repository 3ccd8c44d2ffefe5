"""Statements with row patterns in windows -> `WindowPattern`s, and the text that Spark gets around their values."""
