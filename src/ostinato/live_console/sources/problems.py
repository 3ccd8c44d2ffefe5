"""Anything that a source of the console can't read -> a line of its page. The rest of the page goes on."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.calls.shown_objects import shortened
from ostinato.errors import OstinatoError

_MOST_LETTERS = 1_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One error, and the source that has it."""

    source: str
    code: str
    message: str
    hint: str = ""

    @staticmethod
    def of(source: str, error: OstinatoError) -> Problem:
        """A problem with the error's own words.

        >>> from ostinato.errors import QueryError
        >>> Problem.of("rules", QueryError("INVALID_RULE", "a change of a rule isn't JSON"))
        Problem(source='rules', code='INVALID_RULE', message="a change of a rule isn't JSON", hint='')
        """
        return Problem(source, error.code, shortened(error.message, _MOST_LETTERS), error.hint or "")


def unreadable(source: str, what: str, error: Exception) -> Problem:
    """A file or a folder that the system or Arrow refuses."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error).split("\n", 1)[0]
    reason = words or type(error).__name__
    return Problem(source, "SOURCE_NOT_READABLE", f"{what} can't be read: {shortened(str(reason), 300)}")


def failed(source: str, error: Exception) -> Problem:
    """An error that no reader expects. One of ours has its own words. The text of a defect may hold anything, also
    paths, so only its name is shown."""
    if isinstance(error, OstinatoError):
        return Problem.of(source, error)
    message = f"the console failed with {type(error).__name__}; please report it"
    return Problem(source, "INTERNAL_ERROR", message, "the other sources go on")


def missing(source: str, what: str, option: str) -> Problem:
    """A source that isn't there yet. The console waits for it."""
    return Problem(source, "SOURCE_MISSING", f"there is no {what} yet", f"the console waits for it; {option} names it")
