"""A drawn match -> a sentence that says what its chart shows, for people who can't see it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from ostinato.pictures.price_chart import Excerpt, marked_rows
from ostinato.report.stories import Story


def price_words(story: Story, excerpt: Excerpt) -> str:
    """The course of the price from mark to mark, then the match.

    >>> from ostinato.report.stories import V_SHAPES
    >>> times = [datetime(2025, 1, 6, 9, 30 + minute) for minute in range(4)]
    >>> price_words(V_SHAPES, Excerpt("REEL", times, [10.0, 9.5, 9.0, 10.5], ["TOP", "FALL", "FALL", "BACK"], 0))
    'REEL, 6 January 2025: the price goes from 10.00 down to 9.00, up to 10.50; V shapes from 09:30 to 09:33, 4 trades'
    """
    values = [excerpt.values[row] for row in marked_rows(excerpt, story)]
    steps = ", ".join(f"{'up' if after > before else 'down'} to {after:,.2f}" for before, after in pairwise(values))
    return f"{_head(excerpt)}: the price goes from {values[0]:,.2f} {steps}; {_match(story, excerpt)}"


def payment_words(story: Story, excerpt: Excerpt) -> str:
    """The small payments and the large one, then the match."""
    *small, large = excerpt.values[excerpt.first : excerpt.last + 1]
    merchant = f" ({excerpt.notes[excerpt.last]})" if excerpt.notes else ""
    return (
        f"{_head(excerpt)}: {len(small)} payments of {min(small):,.2f} to {max(small):,.2f}, "
        f"then one of {large:,.2f}{merchant}; {_match(story, excerpt)}"
    )


def overview_words(key: str, times: Sequence[datetime], values: Sequence[float], count: str) -> str:
    """The range of a whole price line, and the number of its matches."""
    return (
        f"{key}: the price from {_day(times[0])} to {_day(times[-1])}, between {min(values):,.2f} and "
        f"{max(values):,.2f}, with {count}"
    )


def span_words(began: datetime, ended: datetime) -> str:
    """The time from one moment to another.

    >>> span_words(datetime(2025, 1, 6, 9, 30), datetime(2025, 1, 7, 9, 30))
    '6 January 2025, 09:30 to 7 January, 09:30'
    """
    end = f"{ended:%H:%M}" if began.date() == ended.date() else f"{ended.day} {ended:%B, %H:%M}"
    return f"{_day(began)}, {began:%H:%M} to {end}"


def _head(excerpt: Excerpt) -> str:
    return f"{excerpt.key}, {_day(excerpt.times[excerpt.first])}"


def _match(story: Story, excerpt: Excerpt) -> str:
    span = span_words(excerpt.times[excerpt.first], excerpt.times[excerpt.last]).partition(", ")[2]
    return f"{story.title} from {span}, {len(excerpt.labels)} {story.table}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
