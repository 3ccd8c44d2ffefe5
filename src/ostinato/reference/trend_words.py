"""Event pattern and sequence of variables (a word) -> the readings by which the word matches. No automaton.

A reading lists the patterns that must be absent before each event of the word and after the last one. It has one more
set than the word has variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from typing import assert_never

from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    Without,
)

Word = tuple[str, ...]
Reading = tuple[frozenset[EventPattern], ...]
"""The patterns that must be absent: before the first event, between the first and the second, ..., after the last."""

NOTHING: frozenset[EventPattern] = frozenset()


@lru_cache(maxsize=200_000)
def match_readings(pattern: EventPattern, word: Word) -> frozenset[Reading]:
    """Every reading by which the word matches the pattern.

    >>> a, b = OneEvent("A", "a"), OneEvent("B", "b")
    >>> len(match_readings(InOrder((a, Repeated(b, Quantifier(1, 2)))), ("a", "b", "b")))
    1
    >>> match_readings(InOrder((a, b)), ("a",))
    frozenset()
    """
    match pattern:
        case OneEvent(variable=variable):
            return frozenset([(NOTHING, NOTHING)] if word == (variable,) else [])
        case Absent(body=body):
            return frozenset([(frozenset((body,)),)] if not word else [])
        case InOrder(parts):
            return frozenset(_one_after_another(parts, word))
        case AnyOf(parts):
            return frozenset(reading for part in parts for reading in match_readings(part, word))
        case Repeated(body, times):
            if not word:
                return frozenset([(NOTHING,)]) if times.at_least == 0 else match_readings(body, word)
            last_round = match_readings(body, word) if _may_end(pattern) else ()
            return frozenset([*last_round, *_rounds(pattern, word, match_readings)])
        case Without(body, absent):
            return frozenset(_with_absence(reading, len(word), absent) for reading in match_readings(body, word))
        case AllOf():
            raise NotImplementedError("AND below the whole pattern")
        case _:
            assert_never(pattern)


@lru_cache(maxsize=200_000)
def prefix_readings(pattern: EventPattern, word: Word) -> frozenset[Reading]:
    """Every reading by which `word`, which isn't empty, is a prefix of a word that matches the pattern.

    These readings have no set for events after the last one.

    >>> a, b = OneEvent("A", "a"), OneEvent("B", "b")
    >>> bool(prefix_readings(InOrder((a, b)), ("a",))), bool(prefix_readings(InOrder((a, b)), ("b",)))
    (True, False)
    """
    match pattern:
        case OneEvent(variable=variable):
            return frozenset([(NOTHING,)] if word == (variable,) else [])
        case Absent():
            return frozenset()
        case InOrder(parts):
            readings: set[Reading] = set()
            for at, part in enumerate(parts):
                for cut in range(len(word)):
                    before = _one_after_another(parts[:at], word[:cut])
                    readings.update(
                        _joined(one, other) for one in before for other in prefix_readings(part, word[cut:])
                    )
            return frozenset(readings)
        case AnyOf(parts):
            return frozenset(reading for part in parts for reading in prefix_readings(part, word))
        case Repeated(body=body):
            return frozenset([*prefix_readings(body, word), *_rounds(pattern, word, prefix_readings)])
        case Without(body, absent):
            return frozenset(_with_absence(reading, len(word), absent) for reading in prefix_readings(body, word))
        case AllOf():
            raise NotImplementedError("AND below the whole pattern")
        case _:
            assert_never(pattern)


def _one_after_another(parts: tuple[EventPattern, ...], word: Word) -> Iterator[Reading]:
    """Every reading by which consecutive pieces of the word match the parts, one piece a part."""
    if not parts:
        if not word:
            yield (NOTHING,)
        return
    for cut in range(len(word) + 1):
        for one in match_readings(parts[0], word[:cut]):
            for other in _one_after_another(parts[1:], word[cut:]):
                yield _joined(one, other)


def _may_end(pattern: Repeated) -> bool:
    """Whether one round is enough. Rounds that match no event are free."""
    return pattern.times.at_least <= 1 or bool(match_readings(pattern.body, ()))


def _rounds(
    pattern: Repeated, word: Word, rest: Callable[[EventPattern, Word], frozenset[Reading]]
) -> Iterator[Reading]:
    """The body matches a first piece, and one round less matches the rest; no piece is empty."""
    least, most = pattern.times.at_least, pattern.times.at_most
    if most == 1:
        return
    fewer = Repeated(pattern.body, Quantifier(max(least - 1, 0), None if most is None else most - 1))
    for cut in range(1, len(word)):
        for one in match_readings(pattern.body, word[:cut]):
            for other in rest(fewer, word[cut:]):
                yield _joined(one, other)


def _with_absence(reading: Reading, events: int, absent: Absent) -> Reading:
    """The reading with a pattern that must be absent between each two events of the word."""
    return tuple(each | {absent.body} if 0 < at < events else each for at, each in enumerate(reading))


def _joined(one: Reading, other: Reading) -> Reading:
    """Joins two readings: the set after the one and the set before the other become one set."""
    return (*one[:-1], one[-1] | other[0], *other[1:])


# --- variables of a pattern -------------------------------------------------------------------------------------------


def variables_of(pattern: EventPattern) -> tuple[str, ...]:
    """The variables outside NOT, each once, in the order of the text."""
    match pattern:
        case OneEvent(variable=variable):
            return (variable,)
        case Absent():
            return ()
        case InOrder(parts) | AnyOf(parts) | AllOf(parts):
            return tuple(dict.fromkeys(name for part in parts for name in variables_of(part)))
        case Repeated(body=body) | Without(body=body):
            return variables_of(body)
        case _:
            assert_never(pattern)


def always_adjacent(pattern: EventPattern, one: str, other: str) -> bool:
    """Whether both variables occur at most once in any word and, whenever both occur, next to one another.

    >>> a, b, c = (OneEvent(name, name) for name in "abc")
    >>> always_adjacent(InOrder((a, b, c)), "a", "b"), always_adjacent(InOrder((a, b, c)), "a", "c")
    (True, False)
    """
    if _most(pattern, one) > 1 or _most(pattern, other) > 1:
        return False
    # Neither is under + or *, so one round of each repetition shows every variable that can come between them.
    both = [word for word in _short_words(pattern) if one in word and other in word]
    return all(abs(word.index(one) - word.index(other)) == 1 for word in both)


def _most(pattern: EventPattern, variable: str) -> float:
    """How often the variable occurs in a word at most."""
    match pattern:
        case OneEvent(variable=name):
            return int(name == variable)
        case Absent():
            return 0
        case InOrder(parts):
            return sum(_most(part, variable) for part in parts)
        case AnyOf(parts) | AllOf(parts):
            return max(_most(part, variable) for part in parts)
        case Repeated(body, times):
            most = _most(body, variable)
            return 0 if most == 0 else inf if times.at_most is None else most * times.at_most
        case Without(body=body):
            return _most(body, variable)
        case _:
            assert_never(pattern)


def _short_words(pattern: EventPattern) -> frozenset[Word]:
    """The words of the pattern in which every repetition has at most one round."""
    match pattern:
        case OneEvent(variable=variable):
            return frozenset([(variable,)])
        case Absent():
            return frozenset([()])
        case InOrder(parts):
            words: frozenset[Word] = frozenset([()])
            for part in parts:
                words = frozenset((*word, *more) for word in words for more in _short_words(part))
            return words
        case AnyOf(parts) | AllOf(parts):
            return frozenset(word for part in parts for word in _short_words(part))
        case Repeated(body, times):
            return _short_words(body) | (frozenset() if times.at_least else frozenset([()]))
        case Without(body=body):
            return _short_words(body)
        case _:
            assert_never(pattern)
