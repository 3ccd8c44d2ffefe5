"""Shared by all public calls: they check options, turn foreign errors into ours, and can be interrupted."""
