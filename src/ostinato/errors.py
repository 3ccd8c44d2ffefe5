"""The errors and warnings of this package. An error has a stable code, the query's text with a caret, and a hint."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
        """The span in a text that has `by` more characters in front."""
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
        # A query may contain lone surrogates, which no terminal and no log can write.
        return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython and Jupyter show: this error alone, unless OSTINATO_TRACEBACK=full."""
        if os.environ.get("OSTINATO_TRACEBACK") == "full":
            return "".join(traceback.format_exception(self)).splitlines()
        return str(self).splitlines()

    def one_line(self) -> str:
        """Code, message and hint, without the query's text: short enough for a row of a Spark job."""
        return f"{self.code}: {self.message}" + (f" (hint: {self.hint})" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.hint, self.text, self.span))


class QueryError(OstinatoError):
    """The query is wrong. Raised before any row is read."""


class MatchError(OstinatoError):
    """The data caused it: a SKIP TO target without a row, an overflow, an exceeded bound."""

    row: int | None = None
    """The start row that failed, as a row number in matching order; None once that order is gone."""


class EnvironmentFault(OstinatoError):
    """The environment lacks something: Java, an extra of this package, a setting."""


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


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the most similar candidate, or None if none is similar.

    >>> did_you_mean("prcie", ["price", "symbol"])
    "did you mean 'price'?"
    """
    names = list(candidates)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not near:
        folded = {candidate.lower(): candidate for candidate in names}
        near = [folded[match] for match in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)]
    return f"did you mean '{near[0]}'?" if near else None


_RENAMED_OPTIONS = {
    "order_by": ("time", "time=..."),
    "partition_by": ("keys", "keys=..."),
    "group_by": ("keys", "keys=..."),
    **{
        name: ("eviction", f"eviction=ost.Eviction({name}=...)")
        for name in ("strategy", "probabilities", "tick", "half_life", "seed")
    },
    "types": ("event_types", "event_types=ost.EventTypes(declared=...)"),
    "unknown_types": ("event_types", "event_types=ost.EventTypes(unknown=...)"),
    "keyed_types": ("event_types", "event_types=ost.EventTypes(keyed=...)"),
    "live": ("archive", "ost.correlate(query, archive=...).run(live)"),
    "graph": ("max_hops", "ost.paths(queries, start=...).run(graph)"),
}
"""Old name -> (an option of the functions that had it, what to write now); docs/decisions/017."""


def unknown_option(name: str, options: Iterable[str]) -> QueryError:
    """The error for a keyword that a call doesn't have."""
    options = tuple(options)
    now, written = _RENAMED_OPTIONS.get(name, ("", ""))
    if now in options:
        return QueryError("RENAMED_OPTION", f"the option '{name}' has another form now", hint=written)
    hint = did_you_mean(name, options) or f"there are {', '.join(options)}"
    return QueryError("INVALID_OPTION", f"there is no option '{name}'", hint=hint)


@contextmanager
def errors_quoting(text: str | None) -> Iterator[None]:
    """Adds the query's text to errors raised inside that have no text yet, so that they show a caret."""
    try:
        yield
    except OstinatoError as error:
        if error.text is None:
            error.text = text
        raise


@contextmanager
def in_statement(text: str | None, fragments: Iterable[Span]) -> Iterator[None]:
    """Moves the caret of errors raised inside from a fragment, which was read alone, to the whole statement.

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
        for fragment in fragments:
            if text is not None and error.text == text[fragment.start : fragment.end]:
                error.text = text
                error.span = None if error.span is None else error.span.moved(fragment.start)
                break
        raise


_CARRIED = re.compile(r"\b([A-Z][A-Z_]+): ([^\n]*?)(?: \(hint: ([^\n]*?)\))? \[ostinato\]")


def carried(error: OstinatoError) -> str:
    """The error as one line for a row or an exception of Spark. `unwrap` reads it back."""
    return f"{error.one_line()} [ostinato]"


_OF_A_ROW = re.compile(
    r"\[([A-Z_]+)[A-Z_.]*\] ([^\n\[]*?)\. [A-Z][^\n]*?SQLSTATE: 22\w{3}\s*\n== SQL \(line \d+, position \d+\) ==\n"
    r"([^\n]*)\n( *)(\^+)"
)
"""Spark's error for a value that an expression can't take (SQLSTATE 22: data exception): code, first sentence, the text
of the expression, and carets under the part that failed."""
OF_ROWS_HINT = 'with on_error="skip", such rows leave with their keys and times, and the query goes on'
_OUR_COLUMNS = "__ost_"
"""Columns that Ostinato adds to Spark's plans have names that begin so."""


def _of_a_row(text: str) -> MatchError | None:
    """Spark's error for an expression that it evaluates for a query, with the expression as the user wrote it."""
    found = _OF_A_ROW.search(text)
    if found is None:
        return None
    code, message, line, before, carets = found.groups()
    expression = _without_checks(line[len(before) : len(before) + len(carets)])
    expression = re.sub(r"`(\w+)`", r"\1", expression)
    names_ours = _OUR_COLUMNS in expression  # a measure over values that matching returned
    return MatchError(
        code,
        f"{message[:1].lower()}{message[1:]} in {'a measure' if names_ours else expression}",
        hint=OF_ROWS_HINT,
    )


_CASE_WORDS = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?:CASE|ELSE|END)\b")


def _without_checks(expression: str) -> str:
    """The expression without CASEs that raise an error of ours (`spark/clause/located_failures.py`)."""
    open_cases, results, at = [[""]], [0], 0  # of each open CASE: its pieces, and the first piece of its ELSE
    for found in _CASE_WORDS.finditer(expression):
        word = found[0]
        open_cases[-1].append(expression[at : found.start()])
        at = found.end()
        if word == "CASE":
            open_cases.append([])
            results.append(0)
        open_cases[-1].append(word)
        if word == "ELSE":
            results[-1] = len(open_cases[-1])
        if word == "END" and len(open_cases) > 1:
            pieces, result = open_cases.pop(), results.pop()
            tested = "".join(pieces[:result])
            raises = "raise_error(" in tested and "[ostinato]" in tested
            open_cases[-1].append("".join(pieces[result:-1]).strip() if raises else "".join(pieces))
    return "".join(piece for pieces in open_cases for piece in pieces) + expression[at:]


WORKERS_DIFFER = "WORKERS_DIFFER"
_IN_WORKER = "Traceback (most recent call last)"
_MODULE_MISSING = re.compile(r"No module named '(ostinato|numba|pyarrow)'")
_OTHER_PYTHON = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([\d.]*\d)")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]*python[^"]*)"')
_OTHER_SOURCES = re.compile(r"No module named 'ostinato\.|Can't get attribute '\w+' on <module 'ostinato")


def workers_differ(message: str) -> EnvironmentFault:
    """The error for Spark workers that can't run our tasks."""
    return EnvironmentFault(
        WORKERS_DIFFER,
        message,
        hint="set PYSPARK_PYTHON to the driver's Python before the session starts, install the same ostinato where the "
        "executors run, or send it along: docs/deployment.md",
    )


def unwrap(error: BaseException) -> OstinatoError | None:
    """Our error inside an exception of Spark, or None.

    An expression over one row, or a measure, is evaluated by Spark. If it fails, Spark's error becomes one of ours.

    >>> unwrap(RuntimeError("[USER_RAISED_EXCEPTION] SKIP_TARGET_MISSING: no row is B [ostinato] SQLSTATE: P0001"))
    MatchError('SKIP_TARGET_MISSING', 'no row is B')
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OstinatoError):
            return cause
        text = str(cause)
        if (of_row := _of_a_row(text)) is not None:  # first: it may quote a query that raises errors of ours
            return of_row
        if (line := _CARRIED.search(text)) is not None:
            code, message, hint = line.groups()
            kind = EnvironmentFault if code == WORKERS_DIFFER else MatchError
            return kind(code, message, hint=hint)
        if (program := _NO_PYTHON.search(text)) is not None:
            return workers_differ(f"Spark can't start '{program[1]}', on an executor or beside the driver")
        if _IN_WORKER in text and (problem := _problem_of_worker(text)) is not None:
            return workers_differ(problem)
        cause = cause.__cause__ or cause.__context__
    return None


def _problem_of_worker(trace: str) -> str | None:
    """The reason in a worker's stack trace why it couldn't run our task; None for other failures."""
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
    """The query works, but perhaps not as intended."""


_held: ContextVar[list[str] | None] = ContextVar("held", default=None)


@contextmanager
def held_warnings() -> Iterator[list[str]]:
    """Collects the warnings of work in another thread. Its caller gives them, because it has the user's line."""
    messages: list[str] = []
    token = _held.set(messages)
    try:
        yield messages
    finally:
        _held.reset(token)


def warn(message: str) -> None:
    """Warns at the line of the user's code that called us, not at a line of ours or of PySpark."""
    if (held := _held.get()) is not None:
        held.append(message)
        return
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, OstinatoWarning, stacklevel=level)
