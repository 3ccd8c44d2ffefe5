"""Text of a path query -> PathQuery, and back."""
