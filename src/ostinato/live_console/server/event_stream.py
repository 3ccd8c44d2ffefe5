"""The differences of a model -> server-sent events for one page, as long as it listens."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable

from ostinato.live_console.model.live_model import Cursor, LiveModel

_LOOK_SECONDS = 0.25
"""A page gets news at most this often, however many rows come."""
_NEXT_PART_SECONDS = 0.05
_HEARTBEAT_SECONDS = 10.0
"""A sign of life, which also finds out that a page is gone."""


def _never() -> bool:
    return False


async def events(model: LiveModel, cursor: Cursor, *, is_closing: Callable[[], bool] = _never) -> AsyncIterator[str]:
    """Ends when the server closes. A slow page delays nobody: its next difference holds all that has come."""
    silent = 0.0
    while not is_closing():
        news = model.delta(cursor)
        if news is None:
            pause = _LOOK_SECONDS
            silent += pause
            if silent >= _HEARTBEAT_SECONDS:
                silent = 0.0
                yield ": still here\n\n"
        else:
            delta, cursor = news
            silent = 0.0
            yield as_event(delta, cursor)
            is_part = cursor.row < model.last_row
            pause = _NEXT_PART_SECONDS if is_part else _LOOK_SECONDS
        await asyncio.sleep(pause)


def as_event(delta: dict[str, object], cursor: Cursor) -> str:
    """One event. JSON has no line ends of its own, so the data is one line. NaN and infinities are null.

    >>> as_event({"rows": []}, Cursor("a1", 2, 3, 4))
    'id: a1.2.3.4\\ndata: {"rows":[]}\\n\\n'
    """
    try:
        data = _as_json(delta)
    except ValueError:
        data = _as_json(_finite(delta))
    return f"id: {cursor.instance}.{cursor.row}.{cursor.revision}.{cursor.rule}\ndata: {data}\n\n"


def _as_json(delta: object) -> str:
    return json.dumps(delta, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _finite(value: object) -> object:
    """A page reconnects for ever if an event can't be written."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_cursor(text: str) -> Cursor:
    """The cursor from the id of the last event that a page got; an empty one for anything else.

    >>> read_cursor("a1.2.3.4"), read_cursor("nonsense")
    (Cursor(instance='a1', row=2, revision=3, rule=4), Cursor(instance='', row=0, revision=0, rule=0))
    """
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isdecimal() and part.isascii() and len(part) < 16 for part in parts[1:]):
        return Cursor()
    return Cursor(parts[0], *map(int, parts[1:]))
