"""Strategies to find pairs of live and archive matches, their costs, and the choice between them."""
