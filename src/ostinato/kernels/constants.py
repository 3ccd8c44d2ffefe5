"""Constants that planning, drivers and kernels share. Importing this module loads no kernel."""

from __future__ import annotations

NO_TIME = -(1 << 63)
"""The time of a row without a time. As `known_until`: nothing is known about later rows."""
