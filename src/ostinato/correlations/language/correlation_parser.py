"""Text of a correlation -> Correlation. If the text is nothing else, also its SELECT list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.select_list import Item, read_items
from ostinato.clause.language.statement_spans import Clause, read_statement
from ostinato.clause.query.clause import MatchRecognize, PartitionKey
from ostinato.correlations.language.correlation import Correlation, Region
from ostinato.correlations.language.correlation_side_checks import check_correlation
from ostinato.correlations.language.correlation_spans import CorrelationText, find_correlations
from ostinato.errors import QueryError, Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.lexer import Kind, tokenize
from ostinato.expressions.parsing import ExpressionParser
from ostinato.expressions.syntax import ColumnRef, Expr, Operator, walk

_LARGEST_DISTANCE = 1 << 61
"""Distances are added to times, all in 64 bits."""

__all__ = ["CorrelationText", "ParsedCorrelation", "correlation_of", "find_correlations", "read_correlation"]


@dataclass(frozen=True, slots=True)
class ParsedCorrelation:
    """`SELECT items FROM live_input MATCH_RECOGNIZE ( ... ) AS live JOIN archive_input MATCH_RECOGNIZE ( ... ) ...`."""

    correlation: Correlation
    items: tuple[Item, ...]
    live_input: str
    archive_input: str


def read_correlation(text: str) -> ParsedCorrelation:
    """Reads a text that is one SELECT over one correlation, and refuses anything else.

    >>> clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(p) AS p {} MATCHES PATTERN (A B+) DEFINE B AS p > PREV(p))"
    >>> query = read_correlation(
    ...     "SELECT live.p FROM x "
    ...     + clause.format("INCREMENTAL")
    ...     + " AS live JOIN x "
    ...     + clause.format("MAXIMAL")
    ...     + " AS archive ON RECENT(archive, live, 500 ROWS)"
    ... )
    >>> query.correlation.region, query.live_input, [item.name for item in query.items]
    (Region(kind='rows', size=500), 'x', ['p'])
    """
    correlations = find_correlations(statement := read_statement(text))
    cursor = Cursor(text)
    if not correlations and len(statement.clauses) == 2:
        span = statement.clauses[1].span
        hint = "ON live.key = archive.key AND RECENT(archive, live, INTERVAL '7' SECOND)"
        message = "two MATCH_RECOGNIZE clauses are a correlation where RECENT joins them, and there is none"
        raise QueryError("RECENT_MISPLACED", message, text=text, span=Span(span.end - 1, span.end), hint=hint)
    if len(correlations) != 1 or len(statement.clauses) != 2 or not cursor.accept("SELECT"):
        _refuse(text, None)
    (spans,) = correlations
    if cursor.sees("DISTINCT"):
        _refuse(text, cursor.token.span)
    items = read_items(cursor)
    cursor.expect("FROM")
    if cursor.token.span.start != spans.pair.start:
        _refuse(text, cursor.token.span)
    if text[spans.end.start : spans.end.end] not in ("", ";"):
        _refuse(text, spans.end)
    correlation = correlation_of(text, spans, whole_condition=True)
    return ParsedCorrelation(correlation, items, _input(text, spans.live), _input(text, spans.archive))


def _input(text: str, clause: Clause) -> str:
    """The name of the clause's table, without an alias."""
    tokens = tokenize(text[clause.input.start : clause.input.end])[:-1]
    named = [token for token in tokens if token.upper != "AS"]
    if len(named) > 2 or any(token.kind not in (Kind.WORD, Kind.BACK_QUOTED) for token in named):
        _refuse(text, clause.input)
    return named[0].name


def correlation_of(
    text: str, spans: CorrelationText, *, double_quoted_identifiers: bool = False, whole_condition: bool = False
) -> Correlation:
    """Parses a correlation inside a statement, with all checks that need no table.

    With `whole_condition`, Ostinato must understand every conjunct of the join's condition. Otherwise the condition has
    only the conjuncts that it understands and that use no other table; the caller evaluates the full condition.
    """
    reader = _CorrelationReader(text, spans, double_quoted_identifiers)
    live, archive = reader.clause(spans.live), reader.clause(spans.archive)
    conjuncts = reader.conjuncts() if whole_condition else reader.understood_conjuncts()
    keys, rest = reader.paired_keys(live, archive, conjuncts)
    correlation = Correlation(
        live=live,
        archive=archive,
        region=reader.region(),
        live_alias=spans.live_alias,
        archive_alias=spans.archive_alias,
        keys=keys,
        condition=_all_of(rest),
        live_first_in_from=spans.live_first,
        text=text,
        bodies=(spans.live.body, spans.archive.body),
        recent=spans.recent,
    )
    with reader.in_statement(spans.live):
        check_correlation(correlation, of_live=True)
    with reader.in_statement(spans.archive):
        check_correlation(correlation, of_live=False)
    return correlation


class _CorrelationReader:
    def __init__(self, text: str, spans: CorrelationText, double_quoted_identifiers: bool) -> None:
        self.text = text
        self.spans = spans
        self.double_quoted_identifiers = double_quoted_identifiers

    def _fail(self, code: str, message: str, span: Span, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.text, span=span, hint=hint)

    def clause(self, clause: Clause) -> MatchRecognize:
        body = self.text[clause.body.start : clause.body.end]
        with self.in_statement(clause):
            return parse_clause(
                body, input_name=clause.input_name, double_quoted_identifiers=self.double_quoted_identifiers
            )

    @contextmanager
    def in_statement(self, clause: Clause) -> Iterator[None]:
        """Moves the caret of a clause's errors to the clause's position in the statement."""
        try:
            yield
        except QueryError as error:
            error.span = self.spans.recent if error.span is None else error.span.moved(clause.body.start)
            error.text = self.text
            raise

    # --- the distance ---

    def region(self) -> Region:
        span = self.spans.distance
        written = self.text[span.start : span.end]
        region = _region(written)
        if region is None or not region.size > 0:
            forms = (
                "INTERVAL '7' SECOND (months have no fixed length), 500 ROWS, or a number if a number orders the rows"
            )
            hint = f"write it out, parameters aren't filled in here: {forms}" if _has_parameter(written) else forms
            self._fail("RECENT_DISTANCE", "the distance of RECENT is a constant above zero", span, hint)
        if region.size > _LARGEST_DISTANCE:
            hint = f"at most {_LARGEST_DISTANCE} microseconds, units or rows: more than any table spans"
            self._fail("RECENT_DISTANCE", "the distance of RECENT is too large", span, hint)
        return region

    # --- the condition ---

    def conjuncts(self) -> list[Expr]:
        return [self._expression(span) for span in self.spans.conjuncts]

    def understood_conjuncts(self) -> list[Expr]:
        understood = []
        for span in self.spans.conjuncts:
            try:
                expr = self._expression(span)
            except QueryError:
                continue  # Spark evaluates it
            if all(self._side(node) is not None for node in walk(expr) if isinstance(node, ColumnRef)):
                understood.append(expr)
        return understood

    def _expression(self, span: Span) -> Expr:
        cursor = Cursor(self.text[: span.end], double_quoted_identifiers=self.double_quoted_identifiers)
        cursor.text = self.text
        cursor.at = next(at for at, token in enumerate(cursor.tokens) if token.span.start >= span.start)
        expr = ExpressionParser(cursor).expression()
        cursor.expect_end("the condition")
        return expr

    def _side(self, ref: ColumnRef) -> str | None:
        """The alias that qualifies the reference."""
        first = ref.parts[0].text.lower()
        aliases = (self.spans.live_alias, self.spans.archive_alias)
        return next((alias for alias in aliases if len(ref.parts) > 1 and alias.lower() == first), None)

    # --- the keys ---

    def paired_keys(
        self, live: MatchRecognize, archive: MatchRecognize, conjuncts: Sequence[Expr]
    ) -> tuple[tuple[tuple[str, str], ...], list[Expr]]:
        """The PARTITION BY columns that the condition equates, in the live side's order, and the other conjuncts."""
        of_live = {key.column.text.lower(): key for key in live.partition_by}
        of_archive = {key.column.text.lower(): key for key in archive.partition_by}
        pairs: dict[str, str] = {}
        rest: list[Expr] = []
        for conjunct in conjuncts:
            live_key, archive_key = self._equated(conjunct)
            is_new = live_key not in pairs and archive_key not in pairs.values()
            if live_key in of_live and archive_key in of_archive and is_new:
                pairs[live_key] = archive_key
            else:
                rest.append(conjunct)
        self._check_paired(self.spans.live, of_live, pairs, self.spans.archive_alias)
        self._check_paired(self.spans.archive, of_archive, list(pairs.values()), self.spans.live_alias)
        names = [(key.column.text, of_archive[pairs[name]].column.text) for name, key in of_live.items()]
        return tuple(names), rest

    def _equated(self, conjunct: Expr) -> tuple[str, str]:
        """The live and the archive column of `live.key = archive.key`. Empty names for other conditions."""
        match conjunct:
            case Operator(op="=", args=(ColumnRef(parts=(_, _)) as live, ColumnRef(parts=(_, _)) as archive)):
                if self._side(live) == self.spans.archive_alias:
                    live, archive = archive, live
                if self._side(live) == self.spans.live_alias and self._side(archive) == self.spans.archive_alias:
                    return live.parts[1].text.lower(), archive.parts[1].text.lower()
        return "", ""

    def _check_paired(
        self, clause: Clause, keys: dict[str, PartitionKey], paired: Sequence[str] | dict[str, str], other_alias: str
    ) -> None:
        for name, key in keys.items():
            if name not in paired:
                with self.in_statement(clause):
                    raise QueryError(
                        "CORRELATION_KEYS",
                        f"the join equates the PARTITION BY column '{key.column.text}' with none of '{other_alias}'",
                        span=key.span,
                        hint="both clauses have the same keys: ON live.key = archive.key AND RECENT(...)",
                    )


def _region(written: str) -> Region | None:
    """The distance as written, of any size; None if it isn't a distance."""
    tokens = tokenize(written)[:-1]
    size = _number(tokens[0].text) if tokens[0].kind is Kind.NUMBER else None
    if len(tokens) == 1 and size is not None:
        return Region("number", size)
    if len(tokens) == 2 and isinstance(size, int) and tokens[1].upper in ("ROW", "ROWS"):
        return Region("rows", size)
    length = parse_interval(written) if tokens[0].upper == "INTERVAL" else None
    return None if length is None else Region("time", length // timedelta(microseconds=1))


def _has_parameter(written: str) -> bool:
    """Whether the text has a parameter: `:name` or `?`."""
    return any(token.text in (":", "?") for token in tokenize(written))


def _number(text: str) -> int | float | None:
    digits = text.rstrip("lLsSyYdDfFbB")
    try:
        return int(digits) if digits.isdigit() else float(digits)
    except ValueError:
        return None


def _all_of(conjuncts: Sequence[Expr]) -> Expr | None:
    if len(conjuncts) < 2:
        return conjuncts[0] if conjuncts else None
    return Operator("and", tuple(conjuncts))


def _refuse(text: str, span: Span | None) -> NoReturn:
    raise QueryError(
        "UNSUPPORTED_IN_PROCESS",
        "in process a correlation is SELECT list FROM name MATCH_RECOGNIZE ( ... ) AS live JOIN name "
        "MATCH_RECOGNIZE ( ... ) AS archive ON condition AND RECENT(archive, live, distance) [WHERE condition]",
        text=text,
        span=span,
        hint="ask Spark for more with ost.sql",
    )
