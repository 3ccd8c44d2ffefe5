"""Progress of the matcher's kernel between two calls: indexes of an array of numbers, and special values."""

from __future__ import annotations

NEXT_ROW, CONDITION_AT, STEP, FRESH_AT, JOIN_AT, CURSOR, FRESH, SINCE_SWEEP, LEFT_BY_SWEEP, FAILURE = range(10)
WORK_LEFT, MAX_LIVE = 10, 11
"""Limits of one kernel call. The kernel stops after a row that uses up WORK_LEFT, or after which more than MAX_LIVE
partial matches live. It matches at least one row."""
PROGRESS = 12
NEW_ROW = -1
"""In CONDITION_AT: the next row hasn't been started."""
FROM_HEAD = -2
"""In CURSOR: start at the head of the list."""
