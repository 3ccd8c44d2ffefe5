"""Event queries on a stream: a bucket's open windows between two steps."""
