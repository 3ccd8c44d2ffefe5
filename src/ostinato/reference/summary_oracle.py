"""`SummaryQuery` and events -> matches (tuples of positions), aggregates, contributions, and the events kept.

The oracle tries every set of positions and computes every expectation exactly, so inputs must be small. It matches
words by derivatives of the expression, without an automaton.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

TIE = Fraction(1, 1 << 40)
"""Benefits whose relative difference is smaller count as equal, because engines may differ in the last digits."""


class SummaryEvent(NamedTuple):
    type: str
    time_us: int
    value: int | float | None = None


# --- words ------------------------------------------------------------------------------------------------------------

Word = tuple[str, ...]
Language = tuple[Any, ...]
"""("none",), ("empty",), ("type", name), ("then", a, b), ("or", frozenset), ("star", a)."""
NONE: Language = ("none",)
EMPTY: Language = ("empty",)


def language(query: SummaryQuery) -> Language:
    """The expression's language, including the empty word if the expression matches it."""
    tokens = _tokens(query.expression, query.declared())
    parsed, end = _union(tokens, 0)
    if end != len(tokens):
        raise QueryError("SUMMARY_EXPRESSION", "there is text after the end of the expression")
    return parsed


def _tokens(text: str, declared: frozenset[str]) -> list[str]:
    tokens: list[str] = []
    while text := text.lstrip():
        if text[0] == "`":
            name, text = text[1:].split("`", 1)
            tokens.append("=" + name)
        elif text[0].isalnum() or text[0] == "_":
            run = text[: next((i for i, c in enumerate(text) if not (c.isalnum() or c == "_")), len(text))]
            tokens += ["=" + run] if run in declared else ["=" + letter for letter in run]
            text = text[len(run) :]
        else:
            tokens.append(text[0])
            text = text[1:]
    return tokens


def _union(tokens: list[str], at: int) -> tuple[Language, int]:
    union, at = _sequence(tokens, at)
    while tokens[at : at + 1] == ["|"]:
        other, at = _sequence(tokens, at + 1)
        union = _or(union, other)
    return union, at


def _sequence(tokens: list[str], at: int) -> tuple[Language, int]:
    sequence = EMPTY
    while at < len(tokens) and (tokens[at] == "(" or tokens[at][0] == "="):
        if tokens[at] == "(":
            item, at = _union(tokens, at + 1)
        else:
            item = ("type", tokens[at][1:])
        at += 1
        while at < len(tokens) and tokens[at] in ("*", "+", "?"):
            star: Language = ("star", item)
            item = {"*": star, "+": _then(item, star), "?": _or(item, EMPTY)}[tokens[at]]
            at += 1
        sequence = _then(sequence, item)
    return sequence, at


def _then(first: Language, second: Language) -> Language:
    if NONE in (first, second):
        return NONE
    if first == EMPTY:
        return second
    return first if second == EMPTY else ("then", first, second)


def _or(first: Language, second: Language) -> Language:
    options: set[Language] = set()
    for option in (first, second):
        options |= option[1] if option[0] == "or" else {option}
    options.discard(NONE)
    if not options:
        return NONE
    return options.pop() if len(options) == 1 else ("or", frozenset(options))


@cache
def has_empty(words: Language) -> bool:
    match words:
        case ("empty",) | ("star", _):
            return True
        case ("then", first, second):
            return has_empty(first) and has_empty(second)
        case ("or", options):
            return any(has_empty(option) for option in options)
    return False


@cache
def after(words: Language, type: str) -> Language:
    """The language of the events that may follow one of this type (Brzozowski's derivative)."""
    match words:
        case ("type", name):
            return EMPTY if name == type else NONE
        case ("star", body):
            return _then(after(body, type), words)
        case ("or", options):
            derivative = NONE
            for option in options:
                derivative = _or(derivative, after(option, type))
            return derivative
        case ("then", first, second):
            derivative = _then(after(first, type), second)
            if has_empty(first):
                derivative = _or(derivative, after(second, type))
            return derivative
    return NONE


# --- matches ----------------------------------------------------------------------------------------------------------


def partial_matches(query: SummaryQuery, events: Sequence[SummaryEvent]) -> Iterator[tuple[tuple[int, ...], Language]]:
    """Every non-empty set of positions that begins a match within the window, and the language of its continuations."""
    words = language(query)
    for size in range(1, len(events) + 1):
        for positions in combinations(range(len(events)), size):
            left = words
            for position in positions:
                left = after(left, events[position].type)
            in_window = events[positions[-1]].time_us - events[positions[0]].time_us <= query.window_us
            if left != NONE and in_window and not _moved_on(query, events, positions):
                yield positions, left


def _moved_on(query: SummaryQuery, events: Sequence[SummaryEvent], positions: tuple[int, ...]) -> bool:
    """Under skip-till-next: whether the match skips an event that it had to take, also after its last event."""
    if query.selection is Selection.ANY:
        return False
    left = language(query)
    for i, position in enumerate(positions):
        left = after(left, events[position].type)
        until = positions[i + 1] if i + 1 < len(positions) else len(events)
        for skipped in events[position + 1 : until]:
            fits = skipped.time_us - events[positions[0]].time_us <= query.window_us
            if fits and after(left, skipped.type) != NONE:
                return True
    return False


def matches(query: SummaryQuery, events: Sequence[SummaryEvent]) -> list[tuple[int, ...]]:
    """The complete matches, in the order of their sizes, then of their positions."""
    return [positions for positions, left in partial_matches(query, events) if has_empty(left)]


def _amount(event: SummaryEvent) -> Fraction:
    return Fraction(0) if event.value is None else Fraction(event.value)


def aggregate(query: SummaryQuery, events: Sequence[SummaryEvent]) -> Fraction | None:
    """COUNT, SUM or AVG over the matches; SUM and AVG of no match are None."""
    complete = matches(query, events)
    if query.aggregate is SummaryAggregate.COUNT:
        return Fraction(len(complete))
    if not complete:
        return None
    total = sum((_amount(events[p]) for positions in complete for p in positions), Fraction(0))
    return total if query.aggregate is SummaryAggregate.SUM else total / len(complete)


def contributions(query: SummaryQuery, events: Sequence[SummaryEvent]) -> list[int]:
    """For each event, the number of matches that contain it."""
    complete = matches(query, events)
    return [sum(position in positions for positions in complete) for position in range(len(events))]


# --- which events are kept --------------------------------------------------------------------------------------------


def expected_matches(words: Language, steps: int, probabilities: dict[str, Fraction], any_match: bool) -> Fraction:
    """Expected number of matches after `steps` more events, from one partial match that `words` can continue."""

    @cache
    def expected(words: Language, steps: int) -> Fraction:
        if not steps:
            return Fraction(has_empty(words))
        rest = Fraction(1)
        total = Fraction(0)
        for name, probability in probabilities.items():
            followed = after(words, name)
            if followed != NONE:
                total += probability * expected(followed, steps - 1)
                rest -= probability
        return total + (1 if any_match else rest) * expected(words, steps - 1)

    return expected(words, steps)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A full summary when one more event arrives. The new event is the last of `events`."""

    query: SummaryQuery
    events: tuple[SummaryEvent, ...]
    probabilities: dict[str, Fraction]

    def benefit(self, position: int, of: Sequence[SummaryEvent]) -> Fraction:
        """B(c, Δτ_old, Δτ_new) of the event at the position among the events `of`, eq. 5."""
        query, now = self.query, self.events[-1].time_us
        partial = [(p, left) for p, left in partial_matches(query, of) if position in p]
        present = sum((self._worth(of, p) for p, left in partial if has_empty(left)), Fraction(0))
        if query.strategy is Strategy.PRESENT:
            return present
        words = language(query)
        starts = [i for i, event in enumerate(of[: position + 1]) if after(words, event.type) != NONE]
        starts = [i for i in starts if now - of[i].time_us <= query.window_us]
        if not starts:
            return present
        active = [left for p, left in partial if now - of[p[0]].time_us <= query.window_us]
        expected = Fraction(0)
        for start in (starts[0], starts[-1]):
            steps = self._steps(query.window_us - (now - of[start].time_us), start)
            for left in active:
                grown = expected_matches(left, steps, self.probabilities, query.selection is Selection.ANY)
                expected += (grown - has_empty(left)) / 2
        if query.aggregate is SummaryAggregate.SUM:
            expected *= abs(_amount(of[position]))
        return present + expected

    def _steps(self, remaining_us: int, older_events: int) -> int:
        tick = 1 if self.query.tick_us is None else self.query.tick_us
        steps = int(Fraction(remaining_us) / Fraction(tick))
        return min(steps, older_events) if self.query.strategy is Strategy.CAPPED else steps

    def _worth(self, of: Sequence[SummaryEvent], positions: tuple[int, ...]) -> Fraction:
        if self.query.aggregate is SummaryAggregate.SUM:
            return sum((abs(_amount(of[p])) for p in positions), Fraction(0))
        return Fraction(1)


def kept_events(query: SummaryQuery, events: Sequence[SummaryEvent]) -> list[int]:
    """Positions of the events that the summary holds at the end. Probabilities and tick must be given."""
    probabilities = {name: Fraction(p) for name, p in query.probabilities or ()}
    named = {token[1:] for token in _tokens(query.expression, query.declared()) if token[0] == "="}
    kept_positions: list[int] = []
    for position, event in enumerate(events):
        if event.type not in named:
            continue
        if len(kept_positions) < query.size:
            kept_positions.append(position)
            continue
        if query.strategy is Strategy.FIFO:
            kept_positions = [*kept_positions[1:], position]
            continue
        events_held = tuple(events[p] for p in kept_positions)
        moment = _Moment(query, (*events_held, event), probabilities)
        benefits = [moment.benefit(i, events_held) for i in range(len(events_held))]
        lowest = 0
        for i, benefit in enumerate(benefits):
            if benefit < benefits[lowest] - abs(benefits[lowest]) * TIE:
                lowest = i
        if moment.benefit(len(events_held), moment.events) > benefits[lowest] + abs(benefits[lowest]) * TIE:
            kept_positions = [*kept_positions[:lowest], *kept_positions[lowest + 1 :], position]
    return kept_positions
