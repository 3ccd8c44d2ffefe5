"""Bound event queries -> programs for engines, and the slots that their outputs are made of."""
