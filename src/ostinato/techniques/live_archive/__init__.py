"""Live matches joined with archive matches of the same key that lie a short while back (DejaVu, 2011)."""
