"""Values that callers pass as options -> the same values, with type and range checked before anything runs.

Each check returns the value, or raises INVALID_OPTION or the option's own code.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from ostinato.errors import QueryError, did_you_mean, unknown_option

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
_MOST_SHOWN = 60
"""Characters of a refused value that a message shows."""


def whole_number(
    name: str, value: Any, *, least: int = 1, most: int | None = None, code_below: str = "INVALID_OPTION"
) -> int:
    """A whole number in a range, both ends included. `code_below` is the code for a number that is too small.

    >>> whole_number("buckets", 0)
    Traceback (most recent call last):
    ...
    ostinato.errors.QueryError: INVALID_OPTION: buckets is a whole number from 1 on, not 0
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and value >= least and (most is None or value <= most):
        return int(value)
    until = "on" if most is None else f"to {most:,}"
    code = code_below if is_whole and value < least else "INVALID_OPTION"
    raise QueryError(code, f"{name} is a whole number from {least} {until}, not {shown(value)}")


def true_or_false(name: str, value: Any) -> bool:
    """A bool; texts such as "no" are refused, because every text is true."""
    if isinstance(value, bool):
        return value
    raise QueryError("INVALID_OPTION", f"{name} is True or False, not {shown(value)}")


def one_of(name: str, value: T, allowed: Iterable[T]) -> T:
    """One of a few texts."""
    choices = tuple(allowed)
    if isinstance(value, str) and value in choices:
        return value
    near = did_you_mean(value, map(str, choices)) if isinstance(value, str) else None
    hint = near or f"it is one of {', '.join(map(repr, choices))}"
    raise QueryError("INVALID_OPTION", f"{name} can't be {shown(value)}", hint=hint)


def member_of(name: str, value: Any, kind: type[E]) -> E:
    """The member of an enumeration. `value` is the member, or its value in any case."""
    for member in kind:
        if value is member or (isinstance(value, str) and value.lower() == str(member.value).lower()):
            return member
    known = ", ".join(repr(str(member.value).lower()) for member in kind)
    raise QueryError("INVALID_OPTION", f"{name} can't be {shown(value)}", hint=f"it is one of {known}")


def a_text(
    name: str, value: Any, *, hint: str | None = None, code: str = "INVALID_OPTION", may_be_empty: bool = False
) -> str:
    """A text, by default one that isn't empty."""
    if isinstance(value, str) and (value or may_be_empty):
        return value
    raise QueryError(code, f"{name} is a text, not {shown(value)}", hint=hint)


def a_path(name: str, value: Any) -> str:
    """A path or an address of a folder, as text."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return a_text(name, value, hint="the path of a folder")


def column_names(name: str, value: Any) -> tuple[str, ...]:
    """The columns that an option names: one or several texts, each once. None: no column.

    >>> column_names("keys", "user"), column_names("keys", ["user", "device"]), column_names("keys", None)
    (('user',), ('user', 'device'), ())
    """
    if value is None:
        return ()
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    names = tuple(value) if several else (value,)
    for one in names:
        if not isinstance(one, str) or not one:
            hint = f'{name}="user" or {name}=["user", "device"]'
            raise QueryError("INVALID_OPTION", f"{name} names columns, not {shown(one)}", hint=hint)
    if len(set(names)) < len(names):
        raise QueryError("INVALID_OPTION", f"{name} names a column twice: {', '.join(names)}")
    return names


def known_names(keywords: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuses keywords that aren't options."""
    options = tuple(allowed)
    for name in keywords:
        if name not in options:
            raise unknown_option(name, options)


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """A refused value as a message shows it: in one line, and not too long.

    >>> shown("no"), shown(10**5000), shown([7] * 50)
    ("'no'", 'a number of more than 100 digits', '[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,...')
    """
    if isinstance(value, int) and abs(value) >= 10**100:
        return "a number of more than 100 digits"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # Python refuses to write very long numbers, which a list may hold; a repr may raise anything
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
