"""The engine without sharing: running sums, ranked edges or visits (GRETA's results at a lower cost per event)."""
