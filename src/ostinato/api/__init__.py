"""The public functions and classes of `ost.*`, with their options checked."""
