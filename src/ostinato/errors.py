"""Everything that can go wrong, as one base error with a stable code, the text with a caret, and a hint."""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters in the text of a query."""

    start: int
    end: int

    def to(self, other: Span | None) -> Span:
        """The smallest span that covers this one and the other."""
        if other is None:
            return self
        return Span(min(self.start, other.start), max(self.end, other.end))

    def moved(self, by: int) -> Span:
        """The same characters in a text that has so many more before them."""
        return Span(self.start + by, self.end + by)


class OstinatoError(Exception):
    """The base of all errors of this package. `code` never changes its meaning between versions."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        text: str | None = None,
        span: Span | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint
        self.text = text
        self.span = span

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.text is not None and self.span is not None:
            lines.append(underline(self.text, self.span))
        if self.hint:
            lines.append(f"hint: {self.hint}")
        # A query may hold lone surrogates, which no terminal and no log can write.
        return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")

    def one_line(self) -> str:
        """The error as a row of a running Spark job can carry it: code, message and hint, no text."""
        return f"{self.code}: {self.message}" + (f" (hint: {self.hint})" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.hint, self.text, self.span))


class QueryError(OstinatoError):
    """The query can't be understood or can't mean anything; known before any row is read."""


class MatchError(OstinatoError):
    """Only a row could show it: a SKIP TO target that isn't there, an overflow, a bound that was passed."""

    row: int | None = None
    """The start row it happened at, while that is still known by its place in the order of matching."""


class EnvironmentFault(OstinatoError):
    """The machine lacks something: Java, an extra of this package, a setting."""


def _rebuild(
    kind: type[OstinatoError], code: str, message: str, hint: str | None, text: str | None, span: Span | None
) -> OstinatoError:
    return kind(code, message, hint=hint, text=text, span=span)


def underline(text: str, span: Span) -> str:
    """The line of the text that the span starts in, with carets under the span.

    >>> print(underline("PATTERN (A B+\\n  C{3,1})", Span(17, 22)))
      2 |   C{3,1})
        |    ^^^^^
    """
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    number = text.count("\n", 0, start) + 1
    width = max(1, min(span.end, line_end) - start)
    column = start - line_start
    line, cut = text[line_start:line_end].replace("\t", " "), 0
    if len(line) > 160:  # a long one-line query: show the neighbourhood only
        cut = max(0, column - 60)
        line, width = line[cut : cut + 120], min(width, 120)
    label = f"{number:>3} | "
    return f"{label}{line}\n{' ' * (len(label) - 2)}| {' ' * (column - cut)}{'^' * width}"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known spelling, or None when nothing is near.

    >>> did_you_mean("prcie", ["price", "symbol"])
    "did you mean 'price'?"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not near:
        folded = {candidate.lower(): candidate for candidate in names}
        near = [folded[match] for match in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)]
    return f"did you mean '{near[0]}'?" if near else None


def unknown_option(name: str, known: Iterable[str]) -> QueryError:
    """The error for a keyword that a call doesn't have."""
    options = tuple(known)
    hint = did_you_mean(name, options) or f"there are {', '.join(options)}"
    return QueryError("INVALID_OPTION", f"there is no option '{name}'", hint=hint)


@contextmanager
def speaking_of(text: str | None) -> Iterator[None]:
    """Errors raised inside that don't know the query's text get it, so that they have a caret."""
    try:
        yield
    except OstinatoError as error:
        if error.text is None:
            error.text = text
        raise


@contextmanager
def in_statement(text: str | None, parts: Iterable[Span]) -> Iterator[None]:
    """Errors raised inside that speak of one of the parts as if it stood alone get their caret in the whole text.

    >>> with in_statement("FROM t MATCH_RECOGNIZE (PATTERN)", [Span(24, 31)]):
    ...     raise QueryError("SYNTAX_ERROR", "expected (", text="PATTERN", span=Span(0, 7))
    Traceback (most recent call last):
    ...
    ostinato.errors.QueryError: SYNTAX_ERROR: expected (
      1 | FROM t MATCH_RECOGNIZE (PATTERN)
        |                         ^^^^^^^
    """
    try:
        yield
    except OstinatoError as error:
        for part in parts:
            if text is not None and error.text == text[part.start : part.end]:
                error.text = text
                error.span = None if error.span is None else error.span.moved(part.start)
                break
        raise


_CARRIED = re.compile(r"\b([A-Z][A-Z_]+): ([^\n]*?)(?: \(hint: ([^\n]*?)\))? \[ostinato\]")


def carried(error: OstinatoError) -> str:
    """The error as one line that survives Spark: a row carries it, Spark raises it, `unwrap` reads it back."""
    return f"{error.one_line()} [ostinato]"


WORKERS_DIFFER = "WORKERS_DIFFER"
_IN_WORKER = "Traceback (most recent call last)"
_MODULE_MISSING = re.compile(r"No module named '(ostinato|numba|pyarrow)'")
_OTHER_PYTHON = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([\d.]*\d)")
_OTHER_SOURCES = re.compile(r"No module named 'ostinato\.|Can't get attribute '\w+' on <module 'ostinato")


def workers_differ(message: str) -> EnvironmentFault:
    """The error where Spark's workers can't run what the driver sends them."""
    return EnvironmentFault(
        WORKERS_DIFFER,
        message,
        hint="set PYSPARK_PYTHON to the driver's Python before the session starts, install the same ostinato where the "
        "executors run, or send it along: docs/streaming.md, 'Workers that lack the package'",
    )


def unwrap(error: BaseException) -> OstinatoError | None:
    """Our own error inside what Spark raised, or None when there is none.

    >>> unwrap(RuntimeError("[USER_RAISED_EXCEPTION] SKIP_TARGET_MISSING: no row is B [ostinato] SQLSTATE: P0001"))
    MatchError('SKIP_TARGET_MISSING', 'no row is B')
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OstinatoError):
            return seen
        text = str(seen)
        found = _CARRIED.search(text)
        if found is not None:
            kind = EnvironmentFault if found[1] == WORKERS_DIFFER else MatchError
            return kind(found[1], found[2], hint=found[3])
        if _IN_WORKER in text and (problem := _problem_of_worker(text)) is not None:
            return workers_differ(problem)
        seen = seen.__cause__ or seen.__context__
    return None


def _problem_of_worker(trace: str) -> str | None:
    """Why a worker's Python couldn't run our task, read from the trace that it left; None for other failures."""
    if (missing := _MODULE_MISSING.search(trace)) is not None:
        return f"the workers' Python has no module '{missing[1]}'"
    if (versions := _OTHER_PYTHON.search(trace)) is not None:
        return f"the driver runs Python {versions[2]}, the workers {versions[1]}"
    if _OTHER_SOURCES.search(trace) is not None:
        return "the workers have another version of ostinato than the driver"
    return None


_NOT_THE_USER = ("ostinato", "pyspark", "contextlib")
"""Packages whose frames lie between a warning and the user's code."""


class OstinatoWarning(UserWarning):
    """Something that works, but perhaps not as meant."""


def warn(message: str) -> None:
    """An OstinatoWarning that names the line of the user's own code, above our frames and those of PySpark."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, OstinatoWarning, stacklevel=level)
