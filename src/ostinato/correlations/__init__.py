"""Correlations (DejaVu, 2011): live matches joined with archive matches from shortly before."""
