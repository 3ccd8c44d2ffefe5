"""Where the matcher's kernel stands between two calls: places in an array of numbers, and what stands there."""

from __future__ import annotations

NEXT_ROW, CONDITION_AT, STEP, FRESH_AT, JOIN_AT, CURSOR, FRESH, SINCE_SWEEP, LEFT_BY_SWEEP, FAILURE = range(10)
WORK_LEFT, MOST_LIVE = 10, 11
"""After the row with which no work is left, or more partial matches live, the kernel stops; at least a row is taken."""
PROGRESS = 12
NEW_ROW = -1
"""In CONDITION_AT: nothing of the next row was done yet."""
FROM_HEAD = -2
"""In CURSOR: the list is walked from its head."""
