"""The state of the page -> a guarded web application, and its server."""
