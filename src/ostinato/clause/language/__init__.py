"""Text or fluent calls -> clause, and back; names tied to the columns of an input."""
