"""The typed, frozen description of a clause: pattern, definitions, measures. No text, no arrays."""
