"""Windows with a row pattern beside the clause of the same pattern."""
