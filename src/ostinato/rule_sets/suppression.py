"""`suppress: 1 hour by user` -> Suppression; matches -> which of them are suppressed. No Spark, no state of its own.

The matches of one rule and one key are taken in the order in which a batch gives them: by their first rows. A match is
suppressed if it ends before the end of the last match that was shown, plus the duration. Else it is shown. Suppressed
matches don't prolong the time, and none is lost: they leave as rows of kind `suppressed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.calls.options import a_text, shown
from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions.intervals import parse_interval
from ostinato.rows.batches import one_array
from ostinato.rows.times import microseconds_of
from ostinato.rule_sets.rule_columns import ENDED, RULE

SUPPRESSED = "suppressed"
"""The kind of output rows that `match` rows become."""
_BY = re.compile(r"\s+by\s+", re.IGNORECASE)
_LONGEST = timedelta(days=100_000 * 365)
"""Times have 64 bits of microseconds."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A rule shows at most one match of a key in this time."""

    duration_us: int
    keys: tuple[str, ...]


def read_suppression(text: object, keys: Sequence[str]) -> Suppression:
    """The text `1 hour by user` for a rule with these keys. Raises INVALID_SUPPRESS.

    >>> read_suppression("1 hour by user, device", ["user", "device"])
    Suppression(duration_us=3600000000, keys=('user', 'device'))
    >>> read_suppression("10 minutes by contry", ["country"])
    Traceback (most recent call last):
    ...
    ostinato.errors.QueryError: INVALID_SUPPRESS: matches are suppressed by the keys of the rule, not by 'contry'
    hint: did you mean 'country'?
    """
    example = f"1 hour{' by ' + ', '.join(keys) if keys else ''}"
    words = a_text("suppress", text, hint=example, code="INVALID_SUPPRESS")
    length, *by = _BY.split(words.strip(), maxsplit=1)
    duration = parse_interval(length)
    if duration is None or not timedelta(0) < duration <= _LONGEST:
        message = f"suppress begins with a length of time above zero, not {shown(length)}"
        raise QueryError("INVALID_SUPPRESS", message, hint=example)
    named = [name.strip().strip("`") for name in by[0].split(",")] if by else []
    folded = {key.lower(): key for key in keys}
    for name in named:
        if name.lower() not in folded:
            message = f"matches are suppressed by the keys of the rule, not by {shown(name)}"
            raise QueryError("INVALID_SUPPRESS", message, hint=did_you_mean(name, keys) or example)
    if sorted(name.lower() for name in named) != sorted(folded):
        message = f"suppress names all keys of the rule, each once: {', '.join(keys)}"
        raise QueryError("INVALID_SUPPRESS", message, hint=example)
    return Suppression(duration // timedelta(microseconds=1), tuple(folded[name.lower()] for name in named))


LastShown = Mapping[tuple[object, ...], int]
"""For each rule and key, the end of the last match that was shown, in microseconds: the state between two calls."""


@dataclass(frozen=True, slots=True)
class SuppressedMatches:
    """The matches of one call that are suppressed, and the state for the next call."""

    suppressed: NDArray[np.bool_]
    last_shown: LastShown = field(default_factory=dict)


def mark_suppressed(
    matches: pa.Table, rules: Mapping[str, Suppression], last_shown: LastShown | None = None
) -> SuppressedMatches:
    """Marks the suppressed rows of a table with the columns `rule`, `ended` and the keys.

    The rows of one rule and key stand in the order in which a batch gives them. Rows of rules that have no suppression
    are shown. A table may be split anywhere, if `last_shown` of one call goes to the next.

    >>> matches = pa.table({"rule": ["r"] * 4, "user": ["ann", "ann", "bob", "ann"], "ended": [0, 59, 60, 60]})
    >>> mark_suppressed(matches, {"r": Suppression(60, ("user",))}).suppressed.tolist()
    [False, True, False, False]
    """
    ends = microseconds_of(one_array(matches[ENDED])).tolist()
    suppressed = np.zeros(matches.num_rows, np.bool_)
    shown_ends = dict(last_shown or {})
    columns = {name: matches[name].to_pylist() for rule in rules.values() for name in rule.keys}
    for row, name in enumerate(matches[RULE].to_pylist()):
        rule = rules.get(name)
        if rule is None:
            continue
        key = (name, *(_comparable(columns[column][row]) for column in sorted(rule.keys)))
        before = shown_ends.get(key)
        if before is not None and ends[row] < before + rule.duration_us:
            suppressed[row] = True
        else:
            shown_ends[key] = ends[row]
    return SuppressedMatches(suppressed, shown_ends)


def _comparable(value: object) -> object:
    """A value that equals itself, which NaN doesn't, and that can be in a key of a dict."""
    if isinstance(value, float) and value != value:
        return "NaN", None
    return repr(value) if isinstance(value, list | dict) else value
