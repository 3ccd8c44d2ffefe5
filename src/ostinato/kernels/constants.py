"""Numbers with a meaning of their own that planning, drivers and kernels all use. No kernel is loaded here."""

from __future__ import annotations

NO_TIME = -(1 << 63)
"""The time of a row that has none; as `known_until`: nothing is known about rows to come."""
