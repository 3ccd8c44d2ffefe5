"""Random expressions, patterns and literals: the pieces that texts of all languages are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ostinato.language.vocabulary import AGGREGATE_ALIASES, AGGREGATE_ARGUMENTS
from ostinato.predicates.functions import FUNCTIONS

COLUMNS = ("id", "k", "x", "i", "ts", "d", "a", "s", "s.f", "b")
VARIABLES = ("A", "B", "C")
TYPES = ("int", "bigint", "double", "string", "boolean", "date", "timestamp", "decimal(10,2)", "array<int>", "binary",
         "tinyint", "float", "interval day", "struct<f:int>", "map<string,int>", "decimal(39,1)", "array<")  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "-1", "7", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
           "0.5", "1.5D", "1.5BD", "1e308", "1e-400D", "1e400D", "5S", "3Y", "300Y", "1L", "1e5", "1e99999", "99bd",
           "1" * 40, "9" * 5000, "²", "٣", "1²", "1_000", "0x1F", ".5", "1.", "1..2")  # fmt: skip
TEXTS = ("'a'", "''", "'b%'", "'%a%a%a'", "'(a+)+$'", "'['", "'('", "'2024-01-01'", "'12:00'", "'1'", "'-'", "'ß…'",
         "'\\\\'", "'\\n'", "r'\\d'", "X'1F'", "X'1'", '"a"', "'\U0001f600'", "'UTC'", "'MONTH'", "'yyyy'")  # fmt: skip
MOMENTS = ("DATE '2024-01-01'", "DATE '2024-13-01'", "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '9999-12-31'",
           "INTERVAL '1' DAY", "INTERVAL 1 MONTH", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '99999999999' DAY",
           "INTERVAL '-5' SECOND", "INTERVAL '1 02:03:04' DAY TO SECOND", "INTERVAL 5", "DATE '0000-0-0'")  # fmt: skip
BINARY = ("+", "-", "*", "/", "%", "div", "&", "|", "^", "<<", ">>", ">>>", "||", "=", "==", "<>", "!=", "<", "<=", ">",
          ">=", "<=>", "AND", "OR", "LIKE", "ILIKE", "RLIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")  # fmt: skip
AGGREGATES = tuple(sorted({*AGGREGATE_ARGUMENTS, *AGGREGATE_ALIASES}))
SCALARS = tuple(sorted(FUNCTIONS))
NESTED = 40
"""Levels of one construct: near the limits of the parsers, which are 50 and more."""


class Fragments:
    """Draws pieces of text. `rng` decides everything."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def one(self, choices: Sequence[str]) -> str:
        return choices[int(self.rng.random() * len(choices))]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def several(self, make: Callable[[], str], most: int, separator: str = ", ") -> str:
        return separator.join(make() for _ in range(self.rng.randint(1, most)))

    # --- expressions ---

    def literal(self) -> str:
        if self.chance(0.1):
            return self.one(("NULL", "TRUE", "FALSE", "array(1, 2)", "array()", "struct(1)", "current_date", "pi()"))
        return self.one((NUMBERS, TEXTS, MOMENTS)[int(self.rng.random() * 3)])

    def column(self) -> str:
        name = self.one(COLUMNS)
        if self.chance(0.05):
            name = self.one(("nope", "`id`", "ID", "t.id", "__ost_m0", "`a``b`", "a.b.c.d"))
        return name

    def navigated(self) -> str:
        """A reference to another row."""
        of = f"{self.one(VARIABLES)}.{self.column()}" if self.chance(0.5) else self.column()
        offset = f", {self.one(NUMBERS)}" if self.chance(0.2) else ""
        word = self.one(("PREV", "NEXT", "FIRST", "LAST", "FINAL LAST", "RUNNING FIRST"))
        inner = f"{self.one(('FIRST', 'LAST'))}({of})" if self.chance(0.1) else of
        return f"{word}({inner}{offset})"

    def leaf(self) -> str:
        drawn = self.rng.random()
        if drawn < 0.4:
            return self.column()
        if drawn < 0.7:
            return self.literal()
        if drawn < 0.8:
            return f"{self.one(VARIABLES)}.{self.column()}"
        if drawn < 0.92:
            return self.navigated()
        return self.one(("CLASSIFIER()", "MATCH_NUMBER()", "CLASSIFIER(A)", "count(*)", "count(A.*)", "sum(x)", "*"))

    def expression(self, depth: int = 3) -> str:
        if depth == 0 or self.chance(0.2):
            return self.leaf()
        below = depth - 1
        drawn = self.rng.random()
        if drawn < 0.4:
            return f"{self.expression(below)} {self.one(BINARY)} {self.expression(below)}"
        if drawn < 0.6:
            return (
                f"{self.one(SCALARS)}({self.several(lambda: self.expression(below), 3) if self.chance(0.95) else ''})"
            )
        if drawn < 0.66:
            distinct = "DISTINCT " if self.chance(0.2) else ""
            return f"{self.one(AGGREGATES)}({distinct}{self.several(lambda: self.expression(below), 2)})"
        return self._special(below)

    def _special(self, below: int) -> str:
        def inner() -> str:
            return self.expression(below)

        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({inner()})",
            lambda: f"CAST({inner()} AS {self.one(TYPES)})",
            lambda: f"TRY_CAST({inner()} AS {self.one(TYPES)})",
            lambda: f"{inner()}::{self.one(TYPES)}",
            lambda: f"NOT {inner()}",
            lambda: f"-{inner()}",
            lambda: (
                f"{inner()} IS {'NOT ' if self.chance(0.5) else ''}{self.one(('NULL', 'TRUE', 'FALSE', 'UNKNOWN'))}"
            ),
            lambda: f"{inner()} {'NOT ' if self.chance(0.3) else ''}IN ({self.several(inner, 3)})",
            lambda: f"{inner()} BETWEEN {inner()} AND {inner()}",
            lambda: f"CASE WHEN {inner()} THEN {inner()} ELSE {inner()} END",
            lambda: f"CASE {inner()} WHEN {inner()} THEN {inner()} END",
            lambda: f"{inner()}[{inner()}]",
            lambda: f"EXTRACT({self.one(('YEAR', 'SECOND', 'EPOCH', 'WEEK'))} FROM {inner()})",
            lambda: f"{inner()} LIKE {self.one(TEXTS)} ESCAPE {self.one(TEXTS)}",
        )
        return forms[int(self.rng.random() * len(forms))]()

    # --- patterns ---

    def quantifier(self) -> str:
        if self.chance(0.6):
            return ""
        n, m = self.rng.randint(0, 4), self.rng.randint(0, 6)
        wide = self.one(NUMBERS)
        forms = ("*", "+", "?", "*?", "+?", "??", f"{{{n}}}", f"{{{n},}}", f"{{,{m}}}", f"{{{n},{m}}}", f"{{{n},{m}}}?",
                 f"{{{wide}}}", f"{{{n},{wide}}}", "**")  # fmt: skip
        return self.one(forms)

    def pattern(self, depth: int = 3) -> str:
        """A row pattern."""
        return self.several(lambda: self._element(depth), 3, " ") if self.chance(0.8) else self._element(depth)

    def _element(self, depth: int) -> str:
        drawn = self.rng.random()
        if depth == 0 or drawn < 0.6:
            body = self.one((*VARIABLES, *VARIABLES, '"b"', "D"))
        elif drawn < 0.8:
            body = f"({self.several(lambda: self.pattern(depth - 1), 2, ' | ')})"
        else:
            body = self.one(("^", "$", "()", "{{- {0} -}}", "PERMUTE({1})")).format(
                self.pattern(depth - 1), self.several(lambda: self.pattern(0), 4)
            )
        return body + self.quantifier()

    def nested(self, opens: str, middle: str, closes: str) -> str:
        """One construct many levels deep."""
        times = self.rng.choice((3, NESTED, 2_000))
        return opens * times + middle + closes * times
