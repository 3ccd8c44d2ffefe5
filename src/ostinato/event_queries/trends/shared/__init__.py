"""Kleene parts without conditions between neighbours, computed once for all queries that have them."""
