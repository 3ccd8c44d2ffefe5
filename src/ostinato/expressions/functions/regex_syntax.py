"""Text of a Java pattern -> tree. Characters and assertions become Python patterns; nothing is matched here.

The parser refuses constructs that a search in linear time can't do (lookaround, back-references, possessive
quantifiers) or that mean something else in Python (a repetition of a group that can be empty). The error names them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

MAX_NESTING = 100
MAX_SIZE = 10_000
"""Largest number of instructions of a pattern, with counted repetitions written out."""


class RegexError(ValueError):
    """The text isn't a Java pattern, or the pattern is refused."""


@dataclass(frozen=True, slots=True)
class Char:
    """One character, as a Python pattern."""

    python: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """A test of a position between characters, as a Python pattern that takes no character."""

    python: str


@dataclass(frozen=True, slots=True)
class Concatenation:
    items: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    options: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    body: Regex
    at_least: int
    at_most: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group, by its number."""

    body: Regex
    number: int


Regex = Char | Assertion | Concatenation | Alternatives | Repetition | Group

_BREAK = r"[\r\u0085\u2028\u2029]"
_LINE_END = rf"(?=(?:\r\n|{_BREAK}|(?<!\r)\n)?\Z)"
_ANCHORS = {"b": r"\b", "B": r"(?!\b)", "A": r"\A", "z": r"\Z", "Z": _LINE_END}
_MULTILINE = {
    "^": r"(?:\A|(?<=[\n\u0085\u2028\u2029])|(?<=\r)(?!\n))(?!\Z)",
    "$": rf"(?:\Z|(?={_BREAK})|(?<!\r)(?=\n))",
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_REFUSED_GROUPS = {
    "=": "lookahead", "!": "lookahead", "<=": "lookbehind", "<!": "lookbehind", ">": "an atomic group",
}  # fmt: skip
_REFUSED_ESCAPES = {
    **dict.fromkeys("123456789k", "a back-reference"), **dict.fromkeys("pP", "a Unicode class"),
    **dict.fromkeys("hHvVRXN", "a class that Python doesn't know"), "G": "the end of the last match",
    "c": "a control character",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParsedRegex:
    tree: Regex
    groups: int
    names: dict[str, int]
    uncertain_groups: frozenset[int]
    """Groups inside a repetition, except a repeated group itself. Java may leave them with text of a failed attempt."""
    word_edges: bool
    """Whether \\b or \\B occurs."""


def parse_regex(pattern: str) -> ParsedRegex:
    """The tree of a pattern. RegexError names syntax that isn't supported.

    >>> parse_regex("a+?").tree
    Repetition(body=Char(python='a'), at_least=1, at_most=None, greedy=False)
    """
    parser = _RegexParser(pattern)
    tree = parser.choice()
    if parser.at < len(pattern):
        parser.fail("a ) closes nothing")
    if _size(tree) > MAX_SIZE:
        raise RegexError(f"the pattern is too large: more than {MAX_SIZE:,} steps with its repetitions written out")
    return ParsedRegex(tree, parser.groups, parser.names, frozenset(parser.uncertain_groups), parser.word_edges)


class _RegexParser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.uncertain_groups: set[int] = set()
        self.word_edges = False
        self.flags = frozenset[str]()

    def fail(self, message: str) -> NoReturn:
        raise RegexError(f"{message} (at character {self.at + 1})")

    def sees(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def accept(self, text: str) -> bool:
        if self.sees(text):
            self.at += len(text)
            return True
        return False

    def take(self) -> str:
        if self.at >= len(self.pattern):
            self.fail("the pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    # --- structure ---

    def choice(self) -> Regex:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"groups nest at most {MAX_NESTING} levels deep")
        flags = self.flags  # (?i) holds up to the end of its group
        options = [self._sequence()]
        while self.accept("|"):
            options.append(self._sequence())
        self.depth, self.flags = self.depth - 1, flags
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self) -> Regex:
        items: list[Regex] = []
        while self.at < len(self.pattern) and not (self.sees("|") or self.sees(")")):
            if self.accept(r"\Q"):
                end = self.pattern.find(r"\E", self.at)
                quoted = self.pattern[self.at : end if end >= 0 else None]
                self.at = len(self.pattern) if end < 0 else end + 2
                items += [self._char(re.escape(char)) for char in quoted]
                continue
            groups = self.groups
            atom = self._atom()
            if atom is not None:
                items.append(self._repeated(atom, groups + 1))
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def _repeated(self, atom: Regex, first_group: int) -> Regex:
        """The atom with its quantifier. The groups in it are numbered from `first_group` on."""
        plain = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.pattern[self.at : self.at + 1])
        if plain is not None:
            self.at += 1
            low, high = plain
        elif self.sees("{"):
            low, high = self._bounds()
        else:
            return atom
        if self.accept("+"):
            self.fail("a possessive quantifier isn't supported")
        if (high is None or high > 1) and _can_be_empty(atom):
            self.fail("a repetition of a group that can match nothing isn't supported")
        if plain != (0, 1):
            self.uncertain_groups.update(range(first_group + isinstance(atom, Group), self.groups + 1))
        return Repetition(atom, low, high, greedy=not self.accept("?"))

    def _bounds(self) -> tuple[int, int | None]:
        matched = re.compile(r"\{(\d{1,6})(,(\d{1,6})?)?\}", re.ASCII).match(self.pattern, self.at)
        if matched is None:
            self.fail("a { must begin a quantifier such as {2,3}")
        self.at = matched.end()
        low = int(matched[1])
        high = low if matched[2] is None else int(matched[3]) if matched[3] else None
        if high is not None and high < low:
            self.fail("a quantifier's upper bound is below its lower one")
        return low, high

    def _atom(self) -> Regex | None:
        char = self.take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._char(self._class())
        if char == ".":
            return Char("(?s:.)" if "s" in self.flags else r"[^\n\r\u0085\u2028\u2029]")
        if char in "^$":
            return Assertion(_MULTILINE[char] if "m" in self.flags else r"\A" if char == "^" else _LINE_END)
        if char in "*+?{":
            self.fail(f"a {char} has nothing to repeat")
        if char == "\\":
            return self._escape()
        return self._char(re.escape(char))

    def _group(self) -> Regex | None:
        if not self.accept("?"):
            return self._captured()
        for mark, construct in sorted(_REFUSED_GROUPS.items(), key=lambda item: -len(item[0])):
            if self.sees(mark):
                self.fail(f"{construct} isn't supported")
        if self.accept("<"):
            return self._named_group()
        return self._flagged()

    def _named_group(self) -> Regex:
        matched = re.compile(r"([A-Za-z][A-Za-z0-9]*)>").match(self.pattern, self.at)
        if matched is None or matched[1] in self.names:
            self.fail("a group's name is missing, or taken")
        self.at = matched.end()
        self.names[matched[1]] = self.groups + 1
        return self._captured()

    def _captured(self) -> Regex:
        self.groups += 1
        number = self.groups  # before the groups inside count on
        return Group(self._closed(), number)

    def _closed(self) -> Regex:
        body = self.choice()
        if not self.accept(")"):
            self.fail("a ( is never closed")
        return body

    def _flagged(self) -> Regex | None:
        """(?: ... ), (?i), (?i-s: ... )."""
        matched = re.compile(r"([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])").match(self.pattern, self.at)
        if matched is None:
            self.fail("(? begins a group of an unknown kind")
        unknown = set(matched[1] + (matched[2] or "")) - set("ims")
        if unknown:
            self.fail(f"the flag {min(unknown)} isn't supported")
        self.at = matched.end()
        before = self.flags
        self.flags = (before | set(matched[1])) - set(matched[2] or "")
        if matched[3] == ")":
            return None
        body = self._closed()
        self.flags = before
        return Concatenation((body,)) if isinstance(body, Group) else body  # (?:(a))+ doesn't repeat group 1 itself

    # --- characters ---

    def _char(self, python: str) -> Char:
        return Char(f"(?i:{python})" if "i" in self.flags else python)

    def _escape(self) -> Regex:
        char = self.take()
        if char in _ANCHORS:
            self.word_edges |= char in "bB"
            return Assertion(_ANCHORS[char])
        return self._char(self._escaped(char))

    def _escaped(self, char: str) -> str:
        """An escape as a Python pattern, inside a class or outside."""
        if char in "dDwWsS":
            return f"\\{char}"
        if char in _REFUSED_ESCAPES:
            self.fail(f"\\{char}, {_REFUSED_ESCAPES[char]}, isn't supported")
        if char in _CONTROLS:
            return re.escape(_CONTROLS[char])
        for letter, shape, base in (
            ("x", r"[0-9a-fA-F]{2}", 16),
            ("u", r"[0-9a-fA-F]{4}", 16),
            ("0", "[0-3]?[0-7]{1,2}", 8),
        ):
            if char == letter:
                matched = re.compile(shape).match(self.pattern, self.at)
                if matched is None:
                    self.fail(f"\\{char} needs digits")
                self.at = matched.end()
                return re.escape(chr(int(matched[0], base)))
        if char.isascii() and char.isalpha():
            self.fail(f"\\{char} isn't a known escape")
        return re.escape(char)

    def _class(self) -> str:
        """The rest of [...]."""
        items = ["[^" if self.accept("^") else "["]
        if self.sees("]"):
            self.fail("an empty class matches nothing")
        while not self.accept("]"):
            if self.sees("[") or self.sees("&&"):
                self.fail("a class inside a class isn't supported")
            char = self.take()
            low = self._escaped(self.take()) if char == "\\" else re.escape(char)
            if self.sees("-") and not (self.sees("-]") or self.sees("-[")):
                self.at += 1
                char = self.take()
                high = self._escaped(self.take()) if char == "\\" else re.escape(char)
                low = self._range(low, high)
            items.append(low)
        return "".join(items) + "]"

    def _range(self, low: str, high: str) -> str:
        ends = [end[-1] for end in (low, high)]
        if any(re.fullmatch(r"\\[dDwWsS]", end) for end in (low, high)) or ends[0] > ends[1]:
            self.fail("a range in a class goes from a lower to a higher character")
        return f"{low}-{high}"


def _can_be_empty(tree: Regex) -> bool:
    match tree:
        case Char():
            return False
        case Assertion():
            return True
        case Concatenation(items):
            return all(_can_be_empty(item) for item in items)
        case Alternatives(options):
            return any(_can_be_empty(option) for option in options)
        case Group(body):
            return _can_be_empty(body)
        case Repetition(body, low):
            return low == 0 or _can_be_empty(body)


def _size(tree: Regex) -> int:
    match tree:
        case Char() | Assertion():
            return 1
        case Concatenation(items) | Alternatives(items):
            return sum(_size(item) + 1 for item in items)
        case Group(body):
            return _size(body) + 2
        case Repetition(body, low, high):
            return (_size(body) + 1) * max(low + 1 if high is None else high, 1)
