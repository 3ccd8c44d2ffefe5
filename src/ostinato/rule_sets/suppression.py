"""`suppress: 1 hour by user` -> Suppression; matches -> which of them are suppressed. No Spark, no state of its own.

The matches of one rule and one key are taken in the order in which a batch gives them: by their first rows. A match is
suppressed if it ends before the end of the last match that was shown, plus the duration. Else it is shown. Suppressed
matches don't prolong the time, and none is lost: they leave as rows of kind `suppressed`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.options import a_text, shown
from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions.intervals import parse_interval
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import Mask

_BY = re.compile(r"\s+by\s+", re.IGNORECASE)
_LONGEST = timedelta(days=100_000 * 365)
"""Times have 64 bits of microseconds."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A rule shows at most one match of a key in this time."""

    duration_us: int
    keys: tuple[str, ...]


def read_suppression(text: object, keys: Sequence[str], longest_us: int | None = None) -> Suppression:
    """The text `1 hour by user` for a rule with these keys. `longest_us`: the silence after which a key is forgotten.
    Raises INVALID_SUPPRESS.

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
    duration_us = duration // timedelta(microseconds=1)
    if longest_us is not None and duration_us > longest_us:
        silence = timedelta(microseconds=longest_us)
        raise QueryError(
            "INVALID_SUPPRESS",
            f"matches can't be suppressed for longer than keys are remembered (forget_keys_after, {silence})",
            hint="suppress for a shorter time",
        )
    return Suppression(duration_us, tuple(folded[name.lower()] for name in named))


class Suppressed(NamedTuple):
    """The suppressed matches of one call, and the state for the next call."""

    matches: Mask
    quiet_until: NDArray[np.int64]
    """For each key the time before which a match must not end; NO_TIME: any match is shown."""


def suppress(
    keys: NDArray[np.int64], ended_us: NDArray[np.int64], duration_us: int, quiet_until: NDArray[np.int64]
) -> Suppressed:
    """Decides about matches of one rule. `keys` has the number of each match's key, `ended_us` the end of each match.

    The matches of one key stand in the order of a batch. They may be split anywhere, if `quiet_until` of one call goes
    to the next. An empty match has no end (NO_TIME): it is shown.

    >>> suppress(np.array([0, 0, 1, 0]), np.array([0, 59, 60, 60]), 60, np.full(2, NO_TIME)).matches.tolist()
    [False, True, False, False]
    """
    quiet = quiet_until.tolist()
    hidden = np.zeros(len(keys), np.bool_)
    for match, (key, ended) in enumerate(zip(keys.tolist(), ended_us.tolist(), strict=True)):
        if ended == NO_TIME:
            continue
        hidden[match] = ended < quiet[key]
        if not hidden[match]:
            quiet[key] = ended + duration_us
    return Suppressed(hidden, np.array(quiet, np.int64))
