"""Java's regular expressions in time linear in the text: the pattern's text -> JavaRegex, which finds matches.

Python's `re` searches where it surely takes few steps. Elsewhere a search of our own runs. It tries what `re` tries, in
the same order, but comes to each instruction at each character at most once, and once more behind each match. So all
matches of a text together take steps in proportion to its length times the instructions of the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ostinato.expressions.functions.regex_syntax import (
    Anchor,
    Char,
    Choice,
    Group,
    Regex,
    RegexError,
    Repeat,
    Sequence,
    parse_regex,
)
from ostinato.kernels.stopping import check_stopped, until_stopped

FEW_STEPS = 10_000_000
"""Up to so many steps, about 0.1 s, may be left to Python's `re`, which can't be stopped."""
MOST_STEPS = 100_000_000
"""A search of our own keeps a byte for each of its steps, and refuses a text that needs more of them."""
_STEPS_PER_LOOK = 4096

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
        self.unsure = parsed.unsure
        self._tree = parsed.tree
        self._word_edges = parsed.word_edges
        self._python = re.compile(_spelled(parsed.tree), re.ASCII)
        self._program: _Program | None = None

    def find(self, text: str) -> Spans | None:
        """The first match."""
        return next(self.matches(text), None)

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches, one behind the other, as Java's `Matcher.find` gives them; RegexError where the text is refused.

        A start is tried once, or twice if it ends one match and begins the next. So all of them take at most twice the
        steps that one search of the text takes.
        """
        if self._word_edges and not text.isascii():
            raise RegexError(
                "\\b and \\B, whose meaning beside letters such as é depends on Java's version, need ASCII"
            )
        find = self._search(text)
        start = 0
        while start <= len(text):
            matched = find(start)
            if matched is None:
                return
            yield matched
            begin, end = matched[0]
            start = end + (begin == end)

    def _search(self, text: str) -> Callable[[int], Spans | None]:
        """Finds the first match from a start on."""
        if self.cost.steps(len(text)) > FEW_STEPS:
            if self._program is None:
                self._program = _Program(self._tree, self.groups)
            return _Search(self._program, text).find

        def find(start: int) -> Spans | None:
            matched = self._python.search(text, start)
            return None if matched is None else [matched.span(group) for group in range(self.groups + 1)]

        return find


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
    """How many steps a search that turns back may take: there are so many `ways` through alternatives, each of at most
    `length` steps, and `loops` loops whose ends can be anywhere. `nested`: there is no such limit."""

    ways: int = 1
    length: int = 1
    loops: int = 0
    nested: bool = False

    def steps(self, size: int) -> float:
        if self.nested:
            return float("inf")
        return float(self.ways) * float(max(self.length, 1)) * float(size + 1) ** (self.loops + 1)


def _cost(tree: Regex) -> _Cost:
    match tree:
        case Char() | Anchor():
            return _Cost()
        case Group(body):
            return _cost(body)
        case Choice(options):
            costs = [_cost(option) for option in options]
            length, loops = max(c.length for c in costs), max(c.loops for c in costs)
            return _Cost(sum(c.ways for c in costs), length, loops, any(c.nested for c in costs))
        case Sequence(parts):
            costs = [_cost(part) for part in parts]
            ways = 1
            for cost in costs:
                ways = min(ways * cost.ways, FEW_STEPS + 1)
            length, loops = sum(c.length for c in costs), sum(c.loops for c in costs)
            return _Cost(ways, length, loops, any(c.nested for c in costs))
        case Repeat(body, low, high):
            inside = _cost(body)
            if high == 1:
                return inside._replace(ways=inside.ways + 1)
            nested = inside.nested or inside.ways > 1 or inside.loops > 0
            if high is None:
                return _Cost(1, inside.length * (low + 1), 1, nested)
            return _Cost(high - low + 1, inside.length * high, 0, nested)


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


class _Search:
    """The search of one text. `tried` says of each instruction at each character whether the search has been there.

    All ways from there have failed, and fail again whatever the begin of the match, unless they led to a match. The
    next search begins at the end of that match, so `find` forgets what it knows of this one character.
    """

    def __init__(self, program: _Program, text: str) -> None:
        self.program = program
        self.text = text
        self.width = len(program.steps)
        size = self.width * (len(text) + 1)
        if size > MOST_STEPS:
            message = f"{self.width:,} instructions at {len(text):,} characters, more than {MOST_STEPS:,} steps"
            raise RegexError(f"the pattern is too large for the text: {message}")
        self.tried = bytearray(size)

    def find(self, start: int) -> Spans | None:
        for begin in until_stopped(range(start, len(self.text) + 1)):
            marks = self._match(begin)
            if marks is not None:
                end = marks[1]
                self.tried[end * self.width : (end + 1) * self.width] = bytes(self.width)
                return list(zip(marks[::2], marks[1::2], strict=True))
        return None

    def _match(self, begin: int) -> list[int] | None:
        steps, width, text, size, tried = self.program.steps, self.width, self.text, len(self.text), self.tried
        marks = [-1] * self.program.marks
        count = 0
        waiting = [(self.program.entry, begin)]
        while waiting:
            at, position = waiting.pop()
            if at < 0:  # back from a way that failed: the mark as it was
                marks[-1 - at] = position
                continue
            while not tried[key := position * width + at]:
                tried[key] = 1
                count += 1
                if count % _STEPS_PER_LOOK == 0:
                    check_stopped()
                step = steps[at]
                if step.char is not None:
                    if position == size or not step.char(text[position]):
                        break
                    position += 1
                elif step.anchor is not None:
                    if step.anchor.match(text, position) is None:
                        break
                elif step.mark >= 0:
                    waiting.append((-1 - step.mark, marks[step.mark]))
                    marks[step.mark] = position
                elif step.next < 0:
                    return marks
                elif step.other >= 0:
                    waiting.append((step.other, position))
                at = step.next
        return None


@cache
def _test(python: str) -> Callable[[str], bool]:
    regex = re.compile(python, re.ASCII)
    return cache(lambda char: regex.fullmatch(char) is not None)
