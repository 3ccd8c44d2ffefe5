"""Wraps every public call: errors of Arrow, numba and Python's own limits become errors of ours.

Each public entry has one line, `@only_our_errors()`. The original exception stays as `__cause__`. Python's own
programming errors (KeyError, AttributeError, ...) pass through: they are defects, or come from a caller's own function.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from ostinato.errors import MatchError, OstinatoError, QueryError, unknown_option

P = ParamSpec("P")
T = TypeVar("T")

_REPORT = "this is a defect of ostinato: please report it with the query and the types of the columns"


class only_our_errors:
    """As a decorator or in a `with` statement: foreign errors leave it as errors of ours. The decorator also refuses
    keywords that the function doesn't have.

    >>> with only_our_errors():
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    ostinato.errors.MatchError: OUT_OF_MEMORY: there isn't enough memory for this
    hint: take fewer rows or columns at a time, bound the query with WITHIN or LIMIT, or use Spark
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ours = None if error is None else error_of_ours(error)
        if ours is not None:
            raise ours from error

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def called(*arguments: P.args, **options: P.kwargs) -> T:
            with self:
                try:
                    return function(*arguments, **options)
                except TypeError as error:
                    unknown = _unknown_keyword(function, arguments, options)
                    if unknown is None:
                        raise
                    raise unknown from error

        return called


def with_our_errors(kind: type[T]) -> type[T]:
    """A class decorator for options that users write: its constructor refuses unknown names by an error of ours."""
    setattr(kind, "__init__", only_our_errors()(kind.__init__))  # noqa: B010 - mypy refuses to assign to a method
    return kind


def _unknown_keyword(
    function: Callable[..., object], arguments: tuple[object, ...], options: dict[str, object]
) -> QueryError | None:
    """The error for the first keyword that the function doesn't have; None for a call that reached the function."""
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments, **options)
    except TypeError:
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        keywords = [name for name, one in signature.parameters.items() if one.kind in named and name != "self"]
        return next((unknown_option(name, keywords) for name in options if name not in keywords), None)
    return None


def ours_or_raise(error: Exception) -> OstinatoError:
    """For Spark tasks, which carry errors in rows: the error as one of ours. Raises a programming error unchanged."""
    if isinstance(error, OstinatoError):
        return error
    ours = error_of_ours(error)
    if ours is None:
        raise error
    return ours


def error_of_ours(error: BaseException) -> OstinatoError | None:
    """The same error as one of ours; None for one that is ours already, and for programming errors."""
    if isinstance(error, OstinatoError):
        return None
    if isinstance(error, RecursionError):
        return QueryError("TOO_DEEP", "the query nests too deeply", hint="write it with fewer levels of parentheses")
    if isinstance(error, UnicodeError):
        return _not_utf8(error)
    if _raised_by(error, "numba"):
        return MatchError("INTERNAL_ERROR", f"a kernel can't take these values: {_first_line(error)}", hint=_REPORT)
    if _raised_by(error, "pyarrow"):
        return _of_arrow(error)
    if _raised_by(error, "py4j"):
        return _of_java(error)
    if isinstance(error, MemoryError):
        return MatchError("OUT_OF_MEMORY", "there isn't enough memory for this", hint=_LESS)
    return None


_LESS = "take fewer rows or columns at a time, bound the query with WITHIN or LIMIT, or use Spark"


def _not_utf8(error: UnicodeError) -> OstinatoError:
    if isinstance(error, UnicodeEncodeError):
        message = f"a text or a name holds a lone surrogate, {error.object[error.start]!r}, which UTF-8 can't write"
        return QueryError("TEXT_NOT_UNICODE", message, hint="surrogates come in pairs; was a file read as UTF-16?")
    hint = "cast the column to binary, or decode it with the encoding that it was written in"
    return MatchError("TEXT_NOT_UNICODE", f"a text column holds bytes that aren't UTF-8: {error}", hint=hint)


def _of_arrow(error: BaseException) -> OstinatoError:
    message = _first_line(error)
    if isinstance(error, MemoryError):
        return MatchError("OUT_OF_MEMORY", f"there isn't enough memory for this: {message}", hint=_LESS)
    if type(error).__name__ == "ArrowCapacityError":
        hint = "leave large columns out of the query, or give it fewer rows at a time"
        return MatchError("TASK_TOO_LARGE", f"a column holds more than Arrow can: {message}", hint=hint)
    if "utf8" in message.lower() or "utf-8" in message.lower():
        return MatchError("TEXT_NOT_UNICODE", f"a text column holds bytes that aren't UTF-8: {message}")
    return MatchError("INTERNAL_ERROR", f"Arrow can't work with these values: {message}", hint=_REPORT)


_SPARK_DEFECT = re.compile(r"\[INTERNAL_ERROR\] ([^\n]*?)\.? SQLSTATE")


def _of_java(error: BaseException) -> OstinatoError | None:
    """Spark's analysis stops with an internal error, and a Java stack, at some expressions that it should refuse."""
    reason = _SPARK_DEFECT.search(str(error))
    return None if reason is None else QueryError("ANALYSIS_ERROR", f"Spark can't analyse the query: {reason[1]}")


def _raised_by(error: BaseException, package: str) -> bool:
    """Whether the package defines the error's class. The check is by name, because the package may not be loaded."""
    return any(kind.__module__.split(".")[0] == package for kind in type(error).__mro__)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
