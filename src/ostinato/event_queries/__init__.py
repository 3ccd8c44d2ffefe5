"""Event queries: `PATTERN SEQ(A a, B+ b) WHERE ... WITHIN ... RETURN ...`, from text to results."""
