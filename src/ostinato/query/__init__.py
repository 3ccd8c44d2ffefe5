"""The typed, frozen description of what is asked: pattern, expressions, clause. No text, no arrays."""
