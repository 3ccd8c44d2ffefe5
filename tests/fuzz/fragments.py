"""Random expressions, patterns and literals: the pieces that texts of all languages are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ostinato.clause.language.vocabulary import AGGREGATE_ALIASES, AGGREGATE_ARGUMENTS
from ostinato.expressions.functions.function_table import FUNCTIONS

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


BY_KIND = {
    "number": ("id", "x", "i", "d", "s.f"),
    "text": ("k",),
    "time": ("ts",),
    "truth": ("b",),
    "array": ("a",),
}
SAFE_NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "1.5D", "7L")


class Fragments:
    """Draws pieces of text. `rng` decides everything; `odd` is the share of pieces that may be wrong in any way."""

    def __init__(self, rng: Random, odd: float | None = None) -> None:
        self.rng = rng
        self.odd = rng.choice((0.0, 0.03, 0.1, 0.4)) if odd is None else odd

    def one(self, choices: Sequence[str]) -> str:
        return choices[int(self.rng.random() * len(choices))]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def several(self, make: Callable[[], str], most: int, separator: str = ", ") -> str:
        return separator.join(make() for _ in range(self.rng.randint(1, most)))

    # --- leaves ---

    def number_literal(self) -> str:
        return self.one(NUMBERS if self.chance(self.odd) else SAFE_NUMBERS)

    def literal(self) -> str:
        """Any literal at all."""
        if self.chance(0.1):
            return self.one(("NULL", "TRUE", "FALSE", "array(1, 2)", "array()", "struct(1)", "current_date", "pi()"))
        return self.one((NUMBERS, TEXTS, MOMENTS)[int(self.rng.random() * 3)])

    def column(self, kind: str | None = None) -> str:
        if self.chance(self.odd / 2):
            return self.one(("nope", "`id`", "ID", "t.id", "__ost_m0", "`a``b`", "a.b.c.d"))
        return self.one(COLUMNS if kind is None or self.chance(self.odd) else BY_KIND[kind])

    def navigated(self, column: str) -> str:
        """The column in another row."""
        of = f"{self.one(VARIABLES[:2])}.{column}" if self.chance(0.5) else column
        offset = (
            f", {self.one(NUMBERS) if self.chance(self.odd) else self.one(('0', '1', '2'))}" if self.chance(0.2) else ""
        )
        inner = f"{self.one(('FIRST', 'LAST'))}({of})" if self.chance(0.1) else of
        return f"{self.one(('PREV', 'NEXT', 'FIRST', 'LAST', 'RUNNING LAST'))}({inner}{offset})"

    def leaf(self, kind: str) -> str:
        drawn = self.rng.random()
        if drawn < self.odd:
            return self.one((self.literal(), self.column(), "CLASSIFIER(A)", "count(A.*)", "FINAL LAST(x)", "*"))
        column = self.column(kind)
        if drawn < 0.5:
            return column
        if drawn < 0.6:
            return f"A.{column}"
        if drawn < 0.75:
            return self.navigated(column)
        constants = {
            "number": (self.number_literal(), "count(*)", f"{self.one(('sum', 'avg', 'min', 'max'))}({column})"),
            "text": (self.one(TEXTS[:4]), "CLASSIFIER()", "'ab'"),
            "time": (MOMENTS[0], MOMENTS[2]),
            "truth": ("TRUE", "FALSE", "NULL"),
            "array": ("array(1, 2)", "array()", "array_agg(i)"),
        }
        return self.one(constants[kind])

    # --- expressions ---

    def expression(self, depth: int = 3, kind: str | None = None) -> str:
        """An expression of a kind, or of any."""
        if self.chance(self.odd):
            return self._anything(depth)
        kind = kind or self.one(("number", "number", "truth", "text", "time", "array"))
        if depth == 0 or self.chance(0.25):
            return self.leaf(kind)
        if self.chance(0.15):
            return self._branch(depth - 1, kind)
        below = depth - 1
        made: dict[str, Callable[[int], str]] = {
            "number": self._number,
            "truth": self._truth,
            "text": lambda d: self.one(
                (f"upper({self.expression(d, 'text')})", f"{self.leaf('text')} || {self.leaf('text')}")
            ),
            "time": lambda d: (
                f"{self.expression(d, 'time')} {self.one(('+', '-'))} INTERVAL '1' {self.one(('DAY', 'HOUR'))}"
            ),
            "array": lambda d: f"array({self.several(lambda: self.expression(d, 'number'), 2)})",
        }
        return made[kind](below)

    def _branch(self, below: int, kind: str) -> str:
        forms = (
            f"CASE WHEN {self.expression(below, 'truth')} THEN {self.leaf(kind)} ELSE {self.leaf(kind)} END",
            f"coalesce({self.expression(below, kind)}, {self.leaf(kind)})",
            f"({self.expression(below, kind)})",
            f"if({self.expression(below, 'truth')}, {self.leaf(kind)}, NULL)",
        )
        return self.one(forms)

    def _number(self, below: int) -> str:
        one, other = self.expression(below, "number"), self.expression(below, "number")
        forms = (
            *(f"{one} {operator} {other}" for operator in ("+", "-", "*", "/", "%")),
            f"{self.one(('abs', 'round', 'floor', 'sqrt', 'sign', 'exp', 'ln'))}({one})",
            f"{self.one(('greatest', 'least', 'pow', 'atan2', 'pmod'))}({one}, {other})",
            f"{self.one(('length', 'ascii'))}({self.expression(below, 'text')})",
            f"{self.one(('year', 'hour', 'dayofweek', 'unix_micros'))}({self.expression(below, 'time')})",
            f"CAST({one} AS {self.one(('int', 'bigint', 'double', 'decimal(10,2)', 'float'))})",
            f"{self.one(('size', 'array_max'))}({self.expression(below, 'array')})",
            f"-{self.leaf('number')}",
        )
        return self.one(forms)

    def _truth(self, below: int) -> str:
        kind = self.one(("number", "number", "text", "time"))
        one, other = self.expression(below, kind), self.expression(below, kind)
        forms = (
            *(f"{one} {operator} {other}" for operator in ("=", "<", ">=", "<>", "<=>")),
            f"{self.expression(below, 'truth')} {self.one(('AND', 'OR'))} {self.expression(below, 'truth')}",
            f"NOT ({self.expression(below, 'truth')})",
            f"{one} IS {self.one(('NULL', 'NOT NULL'))}",
            f"{one} BETWEEN {other} AND {self.leaf(kind)}",
            f"{one} IN ({other}, {self.leaf(kind)})",
            f"{self.leaf('text')} {self.one(('LIKE', 'RLIKE'))} {self.one(TEXTS[:4])}",
        )
        return self.one(forms)

    def _anything(self, depth: int) -> str:
        """Any function, operator or form around anything."""
        below = max(depth - 1, 0)

        def inner() -> str:
            return self.expression(below) if depth > 0 else self.one((self.literal(), self.column()))

        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{self.one(SCALARS)}({self.several(inner, 3) if self.chance(0.95) else ''})",
            lambda: f"{self.one(SCALARS)}({self.several(inner, 3)})",
            lambda: f"{inner()} {self.one(BINARY)} {inner()}",
            lambda: f"{self.one(AGGREGATES)}({'DISTINCT ' if self.chance(0.2) else ''}{self.several(inner, 2)})",
            lambda: f"{self.one(('CAST', 'TRY_CAST'))}({inner()} AS {self.one(TYPES)})",
            lambda: f"{inner()}::{self.one(TYPES)}",
            lambda: f"{inner()} IS {self.one(('NULL', 'TRUE', 'NOT FALSE', 'UNKNOWN'))}",
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
        if self.chance(self.odd):
            wide = self.one(NUMBERS)
            return self.one((f"{{{wide}}}", f"{{1,{wide}}}", "**", "{0}", "{3,1}", "{}"))
        n, m = self.rng.randint(1, 3), self.rng.randint(3, 6)
        return self.one(("*", "+", "?", "*?", "+?", "??", f"{{{n}}}", f"{{{n},}}", f"{{,{m}}}", f"{{{n},{m}}}?"))

    def pattern(self, depth: int = 3) -> str:
        """A row pattern."""
        return self.several(lambda: self._element(depth), 3, " ")

    def _element(self, depth: int) -> str:
        drawn = self.rng.random()
        if depth == 0 or drawn < 0.7:
            body = self.one(VARIABLES)
        elif drawn < 0.9:
            body = f"({self.several(lambda: self.pattern(depth - 1), 2, ' | ')})"
        else:
            body = self.one(("^", "$", "()", "{{- {0} -}}", "PERMUTE({1})", '"b"')).format(
                self.pattern(depth - 1), self.several(lambda: self.pattern(0), 3)
            )
        return body if body in "^$" else body + self.quantifier()

    def nested(self, opens: str, middle: str, closes: str) -> str:
        """One construct many levels deep."""
        times = self.rng.choice((3, NESTED, 2_000))
        return opens * times + middle + closes * times
