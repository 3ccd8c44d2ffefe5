"""Whatever goes wrong inside one rule -> an error of ours: the rule is rejected or suspended, and the others go on."""

from __future__ import annotations

from ostinato.calls.foreign_errors import error_of_ours
from ostinato.errors import MatchError, OstinatoError


def as_error_of_rule(error: Exception) -> OstinatoError:
    """Raises MemoryError unchanged: a repeated batch may have more memory, so a decision must not depend on it."""
    if isinstance(error, OstinatoError):
        return error
    if isinstance(error, MemoryError):
        raise error
    hint = "this is a defect of ostinato: please report it with the rule and the types of the columns"
    message = f"the rule can't run: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return error_of_ours(error) or MatchError("INTERNAL_ERROR", message, hint=hint)
