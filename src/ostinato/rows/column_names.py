"""The names of the columns that Ostinato adds to rows on their way."""

from __future__ import annotations

PREFIX = "__ost_"


MATCHED = f"{PREFIX}matched"
"""The output column that tells rows of matches from unmatched ones, where both are shown."""


ERROR = f"{PREFIX}error"
"""The output column that carries an error from a task in one line."""


DECIDED = f"{PREFIX}decided"
"""A stream's output column with the decision time of the row, which is later than the watermark of the step."""


LATE = f"{PREFIX}late"
"""A stream's output column that marks late rows, where they are shown."""
