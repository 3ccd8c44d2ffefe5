"""One request, tried again until the receiver takes it or the attempts are used up. Time and chance are injected."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ostinato.calls.http_call import NoReply

Reply = bytes | NoReply
_TRY_AGAIN = (408, 425, 429)
"""Answers of the 4xx that are about the moment, not about the request."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The clock, the waiting and the chance that retries need. Tests bring their own."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Retries:
    """Waits double from `first_wait_seconds` to `longest_wait_seconds`. Chance shortens each by up to a half, so that
    many tasks don't come back at the same moment."""

    attempts: int
    first_wait_seconds: float
    longest_wait_seconds: float

    def seconds(self, attempt: int, reply: NoReply, around: Surroundings) -> float:
        """The wait after the given attempt, counted from 1. A longer `Retry-After` of the receiver counts."""
        doubled = self.first_wait_seconds * 2.0 ** min(attempt - 1, 60)
        wait = min(doubled, self.longest_wait_seconds) * (1 - around.chance() / 2)
        return max(wait, min(_retry_after(reply, around.now()), self.longest_wait_seconds))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `reason` is None if the receiver took it."""

    attempts: int
    reason: str | None = None
    status: int | None = None


def send_with_retries(send: Callable[[], Reply], retries: Retries, around: Surroundings) -> Outcome:
    """Sends until the receiver answers with 2xx, or with a status that another attempt wouldn't change."""
    for attempt in itertools.count(1):
        reply = send()
        if isinstance(reply, bytes) or _is_taken(reply.status):
            return Outcome(attempt)
        if attempt == retries.attempts or not _may_succeed_later(reply.status):
            return Outcome(attempt, reply.reason, reply.status)
        around.sleep(retries.seconds(attempt, reply, around))
    raise AssertionError("the last attempt has an outcome")


def _is_taken(status: int | None) -> bool:
    """A receiver that answered 2xx took the request, even if its reply is too large to be read."""
    return status is not None and 200 <= status < 300


def _may_succeed_later(status: int | None) -> bool:
    """Without an answer, and after answers about the receiver's state."""
    return status is None or status >= 500 or status in _TRY_AGAIN


def _retry_after(reply: NoReply, now: datetime) -> float:
    """The receiver's wish in seconds: a number, or a date. 0 for none, and for one that can't be read."""
    text = (reply.retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
