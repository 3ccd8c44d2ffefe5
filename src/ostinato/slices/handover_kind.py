"""A clause -> the kind of row at which a slice may take over from earlier slices. No kernels here."""

from __future__ import annotations

import enum

from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output, Skip, SkipKind


class Handover(enum.Enum):
    """The condition for a handover at a row."""

    ANY = "any row: every row is tried as a start"
    MEETING = "a row where the chains of all possible starts meet"
    QUIET = "a row that no match from before can consume"


def kind_of(clause: MatchRecognize) -> Handover:
    """The kind that the match mode, the skip mode and the output require."""
    shows_unmatched = clause.output is Output.ALL_ROWS_WITH_UNMATCHED
    skips_past = clause.mode is MatchMode.PREFERRED and clause.skip.kind is SkipKind.PAST_LAST_ROW
    if clause.mode is MatchMode.INCREMENTAL or (shows_unmatched and not skips_past):
        return Handover.QUIET  # all matches that reach a row decide whether it is taken
    return Handover.MEETING if is_chained(clause.mode, clause.skip) else Handover.ANY


def is_chained(mode: MatchMode, skip: Skip) -> bool:
    """Whether earlier matches decide which starts are tried."""
    return mode is MatchMode.PREFERRED and skip.kind is not SkipKind.TO_NEXT_ROW
