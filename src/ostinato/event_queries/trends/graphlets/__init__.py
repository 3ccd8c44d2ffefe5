"""Kleene parts with conditions between neighbours: graphlets, snapshots, and whether to share a burst (HAMLET)."""
