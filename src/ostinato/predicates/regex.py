"""Java's regular expressions in time linear in the text: the pattern's text -> JavaRegex, which finds matches.

Python's `re` searches where it surely takes few steps. Elsewhere a search of our own runs. It tries what `re` tries, in
the same order, but comes to each instruction at each character at most once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ostinato.predicates.regex_syntax import Anchor, Char, Choice, Group, Regex, Repeat, Sequence, parse_regex

FEW_STEPS = 10_000_000
"""Up to so many steps, about 0.1 s, may be left to Python's `re`."""

Spans = list[tuple[int, int]]
"""Begin and end of the match and of each group; (-1, -1) for a group that took no part."""


@lru_cache(maxsize=512)
def java_regex(pattern: str) -> JavaRegex:
    """The pattern, ready to search; RegexError where it isn't read.

    >>> java_regex("(a+)+b").find("x" + "a" * 5000) is None
    True
    """
    return JavaRegex(pattern)


class JavaRegex:
    def __init__(self, pattern: str) -> None:
        parsed = parse_regex(pattern)
        self.groups = parsed.groups
        self.names = parsed.names
        self.cost = _cost(parsed.tree)
        self._tree = parsed.tree
        self._python = re.compile(_spelled(parsed.tree), re.ASCII)
        self._program: _Program | None = None

    def find(self, text: str, start: int = 0) -> Spans | None:
        """The first match from `start` on."""
        if self.cost.steps(len(text) - start) <= FEW_STEPS:
            found = self._python.search(text, start)
            return None if found is None else [found.span(group) for group in range(self.groups + 1)]
        if self._program is None:
            self._program = _Program(self._tree, self.groups)
        return self._program.find(text, start)

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches, one behind the other, as Java's `Matcher.find` gives them."""
        start = 0
        while start <= len(text):
            found = self.find(text, start)
            if found is None:
                return
            yield found
            begin, end = found[0]
            start = end + (begin == end)


# --- for Python's `re` ------------------------------------------------------------------------------------------------


def _spelled(tree: Regex) -> str:
    match tree:
        case Char(python) | Anchor(python):
            return python
        case Sequence(parts):
            return "".join(
                _spelled(part) if not isinstance(part, Choice) else f"(?:{_spelled(part)})" for part in parts
            )
        case Choice(options):
            return "|".join(_spelled(option) for option in options)
        case Group(body):
            return f"({_spelled(body)})"
        case Repeat(body, low, high, greedy):
            count = f"{{{low},{'' if high is None else high}}}"
            return f"(?:{_spelled(body)}){count}{'' if greedy else '?'}"


class _Cost(NamedTuple):
    """How many steps a search that turns back may take: there are so many `ways` through alternatives, and `loops`
    loops whose ends can be anywhere. `nested`: there is no such limit."""

    ways: int = 1
    loops: int = 0
    nested: bool = False

    def steps(self, size: int) -> float:
        return float("inf") if self.nested else float(self.ways) * float(size + 1) ** (self.loops + 1)


def _cost(tree: Regex) -> _Cost:
    match tree:
        case Char() | Anchor():
            return _Cost()
        case Group(body):
            return _cost(body)
        case Choice(options):
            costs = [_cost(option) for option in options]
            return _Cost(sum(c.ways for c in costs), max(c.loops for c in costs), any(c.nested for c in costs))
        case Sequence(parts):
            costs = [_cost(part) for part in parts]
            ways = 1
            for cost in costs:
                ways = min(ways * cost.ways, FEW_STEPS + 1)
            return _Cost(ways, sum(c.loops for c in costs), any(c.nested for c in costs))
        case Repeat(body, low, high):
            inside = _cost(body)
            if high == 1:
                return _Cost(inside.ways + 1, inside.loops, inside.nested)
            nested = inside.nested or inside.ways > 1 or inside.loops > 0
            if high is None:
                return _Cost(1, 1, nested)
            return _Cost(high - low + 1, 0, nested)


# --- our own search ---------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """An instruction: go on at `next` after a character (`char`), at a place (`anchor`), with a mark set (`mark`), or
    try `next` first and then `other`. Without any of them it is the end of the pattern."""

    next: int = -1
    char: Callable[[str], bool] | None = None
    anchor: re.Pattern[str] | None = None
    mark: int = -1
    other: int = -1


class _Program:
    """The pattern as instructions, laid out back to front: every method gets where to go on and returns the entry."""

    def __init__(self, tree: Regex, groups: int) -> None:
        self.marks = 2 * groups + 2
        self.steps: list[_Step] = []
        end = self._add(_Step(self._add(_Step()), mark=1))
        self.entry = self._add(_Step(self._laid_out(tree, end), mark=0))

    def _add(self, step: _Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _laid_out(self, tree: Regex, then: int) -> int:
        match tree:
            case Char(python):
                return self._add(_Step(then, char=_test(python)))
            case Anchor(python):
                return self._add(_Step(then, anchor=re.compile(python, re.ASCII)))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._laid_out(part, then)
                return then
            case Choice(options):
                entry = self._laid_out(options[-1], then)
                for option in reversed(options[:-1]):
                    entry = self._add(_Step(self._laid_out(option, then), other=entry))
                return entry
            case Group(body, number):
                end = self._add(_Step(then, mark=2 * number + 1))
                return self._add(_Step(self._laid_out(body, end), mark=2 * number))
            case Repeat():
                return self._repeat(tree, then)

    def _repeat(self, loop: Repeat, then: int) -> int:
        entry = then
        if loop.at_most is None:
            entry = self._add(_Step())
            body = self._laid_out(loop.body, entry)
            self.steps[entry] = _Step(body, other=then) if loop.greedy else _Step(then, other=body)
        else:
            for _ in range(loop.at_most - loop.at_least):
                body = self._laid_out(loop.body, entry)
                entry = self._add(_Step(body, other=then) if loop.greedy else _Step(then, other=body))
        for _ in range(loop.at_least):
            entry = self._laid_out(loop.body, entry)
        return entry

    def find(self, text: str, start: int) -> Spans | None:
        tried: set[int] = set()  # what has failed from one begin fails from every other, too
        for begin in range(start, len(text) + 1):
            marks = self._match(text, begin, tried)
            if marks is not None:
                return list(zip(marks[::2], marks[1::2], strict=True))
        return None

    def _match(self, text: str, begin: int, tried: set[int]) -> list[int] | None:
        steps, width, size = self.steps, len(self.steps), len(text)
        marks = [-1] * self.marks
        waiting = [(self.entry, begin)]
        while waiting:
            at, place = waiting.pop()
            if at < 0:  # back from a way that failed: the mark as it was
                marks[-1 - at] = place
                continue
            while (key := place * width + at) not in tried:
                tried.add(key)
                step = steps[at]
                if step.char is not None:
                    if place == size or not step.char(text[place]):
                        break
                    place += 1
                elif step.anchor is not None:
                    if step.anchor.match(text, place) is None:
                        break
                elif step.mark >= 0:
                    waiting.append((-1 - step.mark, marks[step.mark]))
                    marks[step.mark] = place
                elif step.next < 0:
                    return marks
                elif step.other >= 0:
                    waiting.append((step.other, place))
                at = step.next
        return None


@cache
def _test(python: str) -> Callable[[str], bool]:
    regex = re.compile(python, re.ASCII)
    return cache(lambda char: regex.fullmatch(char) is not None)
