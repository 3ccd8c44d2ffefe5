"""Every public name has a docstring, functions have an example, and signatures say what they take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ostinato as ost

MADE_BY_SPARK = {"args": "values for Spark", "trigger": "arguments of Spark's own trigger"}
"""Parameters whose values Spark takes, whatever they are."""


def public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in ost.__all__:
        value = getattr(ost, name)
        if inspect.isfunction(value):
            yield name, inspect.unwrap(value)
        elif inspect.isclass(value) and value.__module__.startswith("ostinato"):
            for method, member in inspect.getmembers(value):
                function = member.fget if isinstance(member, property) else member
                is_own = inspect.isroutine(function) and not method.startswith("_")
                if is_own or method == "__call__":
                    yield f"{name}.{method}", inspect.unwrap(function)


CALLS = dict(public_calls())


@pytest.mark.parametrize("name", CALLS)
def test_it_has_a_docstring(name: str) -> None:
    is_of_exceptions = name.endswith((".add_note", ".with_traceback"))
    assert is_of_exceptions or inspect.getdoc(CALLS[name]), f"{name} has no docstring"


@pytest.mark.parametrize("name", [name for name in CALLS if "." not in name])
def test_a_function_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(CALLS[name]) or ""), f"{name} has no example"


@pytest.mark.parametrize("name", CALLS)
def test_its_signature_is_precise(name: str) -> None:
    annotations = getattr(CALLS[name], "__annotations__", {})
    vague = {key: text for key, text in annotations.items() if re.search(r"\bAny\b", str(text).replace("[Any]", ""))}
    assert {key: text for key, text in vague.items() if key not in MADE_BY_SPARK} == {}


@pytest.mark.parametrize("kind", [name for name in ost.__all__ if inspect.isclass(getattr(ost, name))])
def test_a_class_says_what_it_is(kind: str) -> None:
    assert getattr(ost, kind).__doc__
