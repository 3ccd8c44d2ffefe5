"""Text of a Java pattern -> JavaRegex, which finds matches in time linear in the text.

Python's `re` searches if it surely takes few steps. Otherwise our own search runs. It tries the same choices as `re` in
the same order, but each instruction at each character at most once, and once more behind each match. So all matches of
a text together take at most about as many steps as the text's length times the pattern's instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ostinato.expressions.functions.regex_syntax import (
    Alternatives,
    Assertion,
    Char,
    Concatenation,
    Group,
    Regex,
    RegexError,
    Repetition,
    parse_regex,
)
from ostinato.kernels.stopping import check_stopped, until_stopped

FEW_STEPS = 10_000_000
"""Most steps (about 0.1 s) that Python's `re`, which can't be stopped, may take."""
MOST_STEPS = 100_000_000
"""Most steps of our own search, which keeps a byte for each of them. It refuses a text that needs more."""
_STEPS_PER_CHECK = 4096

Spans = list[tuple[int, int]]
"""Begin and end of the match and of each group; (-1, -1) for a group that didn't match."""


@lru_cache(maxsize=512)
def java_regex(pattern: str) -> JavaRegex:
    """The pattern, ready to search. Raises RegexError if it can't be read.

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
        self.uncertain_groups = parsed.uncertain_groups
        self._tree = parsed.tree
        self._word_edges = parsed.word_edges
        self._python = re.compile(_spelled(parsed.tree), re.ASCII)
        self._program: _RegexProgram | None = None

    def find(self, text: str) -> Spans | None:
        """The first match."""
        return next(self.matches(text), None)

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches from left to right, as Java's `Matcher.find` gives them. RegexError if the text is refused.

        A start is tried once, or twice if one match ends and the next begins there. So all matches take at most twice
        the steps of one search of the text.
        """
        if self._word_edges and not text.isascii():
            raise RegexError(
                "\\b and \\B need ASCII text: their meaning beside letters such as é depends on Java's version"
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
        """A function that finds the first match from a start on."""
        if self.cost.steps(len(text)) > FEW_STEPS:
            if self._program is None:
                self._program = _RegexProgram(self._tree, self.groups)
            return _RegexSearch(self._program, text).find

        def find(start: int) -> Spans | None:
            matched = self._python.search(text, start)
            return None if matched is None else [matched.span(group) for group in range(self.groups + 1)]

        return find


# --- for Python's `re` ------------------------------------------------------------------------------------------------


def _spelled(tree: Regex) -> str:
    match tree:
        case Char(python) | Assertion(python):
            return python
        case Concatenation(items):
            return "".join(
                _spelled(item) if not isinstance(item, Alternatives) else f"(?:{_spelled(item)})" for item in items
            )
        case Alternatives(options):
            return "|".join(_spelled(option) for option in options)
        case Group(body):
            return f"({_spelled(body)})"
        case Repetition(body, low, high, greedy):
            count = f"{{{low},{'' if high is None else high}}}"
            return f"(?:{_spelled(body)}){count}{'' if greedy else '?'}"


class _Cost(NamedTuple):
    """Bound on the steps of a search that backtracks: the number of `paths` through alternatives, each of at most
    `length` steps, and the number of `loops`, which can end anywhere. Without a bound if loops are `nested`."""

    paths: int = 1
    length: int = 1
    loops: int = 0
    nested: bool = False

    def steps(self, size: int) -> float:
        if self.nested:
            return float("inf")
        return float(self.paths) * float(max(self.length, 1)) * float(size + 1) ** (self.loops + 1)


def _cost(tree: Regex) -> _Cost:
    match tree:
        case Char() | Assertion():
            return _Cost()
        case Group(body):
            return _cost(body)
        case Alternatives(options):
            costs = [_cost(option) for option in options]
            length, loops = max(c.length for c in costs), max(c.loops for c in costs)
            return _Cost(sum(c.paths for c in costs), length, loops, any(c.nested for c in costs))
        case Concatenation(items):
            costs = [_cost(item) for item in items]
            paths = 1
            for cost in costs:
                paths = min(paths * cost.paths, FEW_STEPS + 1)
            length, loops = sum(c.length for c in costs), sum(c.loops for c in costs)
            return _Cost(paths, length, loops, any(c.nested for c in costs))
        case Repetition(body, low, high):
            inside = _cost(body)
            if high == 1:
                return inside._replace(paths=inside.paths + 1)
            nested = inside.nested or inside.paths > 1 or inside.loops > 0
            if high is None:
                return _Cost(1, inside.length * (low + 1), 1, nested)
            return _Cost(high - low + 1, inside.length * high, 0, nested)


# --- our own search ---------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """An instruction. It goes to `next` after a character (`char`), if an assertion holds (`assertion`), or after
    setting a mark (`mark`); or it tries `next` first and then `other`. With none of these the pattern ends."""

    next: int = -1
    char: Callable[[str], bool] | None = None
    assertion: re.Pattern[str] | None = None
    mark: int = -1
    other: int = -1


class _RegexProgram:
    """The pattern as instructions, written from back to front. A method gets the next one, returns the first."""

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
            case Assertion(python):
                return self._add(_Step(then, assertion=re.compile(python, re.ASCII)))
            case Concatenation(items):
                for item in reversed(items):
                    then = self._laid_out(item, then)
                return then
            case Alternatives(options):
                entry = self._laid_out(options[-1], then)
                for option in reversed(options[:-1]):
                    entry = self._add(_Step(self._laid_out(option, then), other=entry))
                return entry
            case Group(body, number):
                end = self._add(_Step(then, mark=2 * number + 1))
                return self._add(_Step(self._laid_out(body, end), mark=2 * number))
            case Repetition():
                return self._repeat(tree, then)

    def _repeat(self, loop: Repetition, then: int) -> int:
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


class _RegexSearch:
    """The search of one text. `tried` marks each instruction at each character that the search has tried.

    A tried pair has failed and fails again for every start, unless it led to a match. The next search starts at the end
    of that match, so `find` clears the marks of that one character.
    """

    def __init__(self, program: _RegexProgram, text: str) -> None:
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
            if at < 0:  # a choice failed: restore the mark
                marks[-1 - at] = position
                continue
            while not tried[key := position * width + at]:
                tried[key] = 1
                count += 1
                if count % _STEPS_PER_CHECK == 0:
                    check_stopped()
                step = steps[at]
                if step.char is not None:
                    if position == size or not step.char(text[position]):
                        break
                    position += 1
                elif step.assertion is not None:
                    if step.assertion.match(text, position) is None:
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
