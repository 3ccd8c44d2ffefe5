"""The names of the columns that Ostinato adds to shipped rows and to results."""

from __future__ import annotations

PREFIX = "__ost_"


KEY = f"{PREFIX}key_"
"""The start of the name of an input column with the values of a key that is an expression. Outputs don't show it."""


MATCHED = f"{PREFIX}matched"
"""The output column that is false for unmatched rows, where they are shown."""


ERROR = f"{PREFIX}error"
"""The output column that carries the error of a task."""


DECIDED = f"{PREFIX}decided"
"""A stream's output column with the decision time of the row, which is later than the watermark of the step."""


STATUS = f"{PREFIX}status"
"""A stream's output column that tells final rows from preliminary ones, where these are shown."""


ORDINAL = f"{PREFIX}ordinal"
"""The column of stored rows with their ordinals. Rows before them that are equal may not be stored any more."""


LATE = f"{PREFIX}late"
"""A stream's output column that marks late rows, where they are shown."""


ROW_ERROR = f"{PREFIX}row_error"
"""With on_error="skip", the output column with the error of a row. Such a row doesn't stop the query."""


FAILED_SLOTS = f"{PREFIX}failed_slots"
"""With on_error="skip", the values of a match that couldn't be computed for an output row, as a list of their names."""
