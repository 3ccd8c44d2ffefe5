"""The options `match_id=` and `run_id=`: the names of output columns to add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ostinato.calls.options import a_text

IdKind = Literal["match", "run"]


@dataclass(frozen=True, slots=True)
class IdColumns:
    """The columns to add. Without a name, a column isn't added."""

    match_id: str | None = None
    """An id of 32 hex digits that the same match has in every run of the query: batch, stream, replay."""
    run_id: str | None = None
    """An id of 32 hex digits that stays the same while a partial match grows."""
    rule: str = ""
    """The name of the rule that the ids belong to; not an option of calls."""

    def __post_init__(self) -> None:
        for option, name in (("match_id", self.match_id), ("run_id", self.run_id)):
            if name is not None:
                a_text(option, name, hint="the name of a column to add")

    def by_kind(self) -> tuple[tuple[IdKind, str], ...]:
        """The columns to add, the match id first."""
        columns: tuple[tuple[IdKind, str | None], ...] = (("match", self.match_id), ("run", self.run_id))
        return tuple((kind, name) for kind, name in columns if name is not None)


NO_IDS = IdColumns()
