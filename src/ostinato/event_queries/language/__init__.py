"""Text or fluent calls -> EventQuery, and back; names and conditions tied to columns."""
