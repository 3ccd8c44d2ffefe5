"""Text or fluent calls -> typed query, and back. No data here."""
