"""One step of a correlation: rows in, result rows and the next state out."""
