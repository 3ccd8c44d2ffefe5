"""DejaVu measured again: live matches joined with archive matches, by every strategy."""
