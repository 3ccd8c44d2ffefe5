"""Stored definitions of queries: their format, and the differences between two of them in words. No Spark here.

A definition is JSON: the format, the kind of query, its values, and in STATE those that the state depends on, by the
names that messages use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ostinato.errors import MatchError
from ostinato.streams.stored_state import reading

FORMAT = 3
"""The version of stored definitions."""
STATE = "state"
DEFINITION = "the definition of this stream"
"""The subject of messages about it."""
ABSENT = "nothing"


def check_format(form: Any, expected: int = FORMAT) -> None:
    """Raises STATE_FORMAT for a definition of another version."""
    if form != expected:
        raise MatchError(
            "STATE_FORMAT",
            f"the state was written in format {form}, this version reads format {expected}",
            hint="use the version of Ostinato that wrote it",
        )


def definition_changes(stored: str, now: str) -> list[str]:
    """The values that the state depends on and that differ between two definitions, in words."""
    with reading(DEFINITION):
        then, after = json.loads(stored), json.loads(now)
        check_format(then.get("format"))
        if then["kind"] != after["kind"]:
            return [f"kind of query: {then['kind']} became {after['kind']}"]
        return changes_between(then[STATE], after[STATE])


def changes_between(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """One text for each value that differs: its name, the old value and the new one.

    Of texts with several lines only the lines that differ are shown.

    >>> changes_between({"buckets": 64, "eager": False}, {"buckets": 8, "eager": False})
    ['buckets: 64 became 8']
    >>> changes_between({"clause": "PATTERN (A)\\nDEFINE A AS x > 1"}, {"clause": "PATTERN (A)\\nDEFINE A AS x > 2"})
    ['clause: DEFINE A AS x > 1 became DEFINE A AS x > 2']
    """
    names = dict.fromkeys((*then, *now))
    return [f"{name}: {_change(then.get(name), now.get(name))}" for name in names if then.get(name) != now.get(name)]


def _change(then: Any, now: Any) -> str:
    before, after = _lines(then), _lines(now)
    gone = [line for line in before if line not in after]
    come = [line for line in after if line not in before]
    if not gone and not come:  # the same lines in another order
        gone, come = before, after
    return f"{'; '.join(gone) or ABSENT} became {'; '.join(come) or ABSENT}"


def _lines(value: Any) -> list[str]:
    """The value as text: one element for each line, and for each element of a list."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [line for element in value for line in _lines(element)]
    return [line.strip() for line in str(value).split("\n")]
