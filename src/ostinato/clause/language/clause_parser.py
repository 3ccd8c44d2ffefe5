"""Text of one MATCH_RECOGNIZE clause -> MatchRecognize. The grammar is in docs/reference.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from ostinato.clause.language.clause_checks import check_clause
from ostinato.clause.language.foreign_syntax import foreign_forms
from ostinato.clause.language.key_parser import read_key
from ostinato.clause.language.listed_items import (
    alias_follows,
    definition_follows,
    key_follows,
    listed,
    measure_follows,
    subset_follows,
    variable_follows,
)
from ostinato.clause.language.pattern_parser import row_pattern
from ostinato.clause.query.clause import (
    ClauseSpans,
    Definition,
    MatchMode,
    MatchRecognize,
    Measure,
    Output,
    PartitionKey,
    Skip,
    SkipKind,
    SortKey,
    Subset,
)
from ostinato.clause.query.months import Months, parse_within
from ostinato.clause.query.pattern import MAX_BOUND
from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parameters import ParameterReader
from ostinato.expressions.parsing import ExpressionParser
from ostinato.expressions.syntax import Name
from ostinato.expressions.written_lengths import written_length

Item = TypeVar("Item")

_WITHIN_EXAMPLE = "WITHIN 10 MINUTES or WITHIN INTERVAL '10' MINUTE"
_BEHIND_WITHIN = frozenset({"MAXLENGTH", "SUBSET", "DEFINE"})
_ORDER = "PARTITION BY, ORDER BY, MEASURES, rows per match, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE"


@dataclass(frozen=True, slots=True)
class DefaultColumns:
    """The columns of PARTITION BY and ORDER BY for clauses whose text has none."""

    keys: tuple[str, ...] = ()
    time: tuple[str, ...] = ()

    def complete(self, clause: MatchRecognize) -> MatchRecognize:
        """The clause with these columns in the places that are empty."""
        keys = tuple(PartitionKey(Name(name, quoted=True)) for name in self.keys)
        time = tuple(SortKey(Name(name, quoted=True)) for name in self.time)
        return replace(clause, partition_by=clause.partition_by or keys, order_by=clause.order_by or time)


NO_DEFAULTS = DefaultColumns()


def parse_clause(
    text: str,
    *,
    input_name: str | None = None,
    double_quoted_identifiers: bool = False,
    defaults: DefaultColumns = NO_DEFAULTS,
    parameters: ParameterReader | None = None,
    has_sub_queries: bool = False,
) -> MatchRecognize:
    """The clause inside `MATCH_RECOGNIZE ( ... )`. The text may include that keyword and its parentheses.

    `parameters` has the values of `:name` and `?`. Without it, parameters are refused.
    `has_sub_queries`: the caller puts values in the place of sub-queries. Otherwise they are refused.

    >>> query = parse_clause("ORDER BY ts MEASURES LAST(B.price) AS top PATTERN (A B+) DEFINE B AS price > PREV(price)")
    >>> [measure.name for measure in query.measures]
    ['top']
    """
    cursor = Cursor(
        text,
        double_quoted_identifiers=double_quoted_identifiers,
        parameters=parameters,
        has_sub_queries=has_sub_queries,
    )
    wrapped = cursor.accept("MATCH_RECOGNIZE", "(")
    with foreign_forms(cursor):
        query = defaults.complete(ClauseParser(cursor, input_name).clause())
        if wrapped:
            cursor.expect(")")
        cursor.expect_end("the clause", hint=f"the order is: {_ORDER}")
    check_clause(query)
    return query


def parse_partition_keys(text: str) -> tuple[PartitionKey, ...]:
    """The list behind PARTITION BY."""
    return _whole_list(text, ClauseParser.partition_keys)


def parse_sort_keys(text: str) -> tuple[SortKey, ...]:
    """The list behind ORDER BY."""
    return _whole_list(text, ClauseParser.sort_keys)


def _whole_list(text: str, read: Callable[[ClauseParser], tuple[Item, ...]]) -> tuple[Item, ...]:
    cursor = Cursor(text)
    keys = read(ClauseParser(cursor, None))
    if cursor.token.kind is not Kind.END:
        cursor.fail(f"expected a column, found {cursor.describe()}")
    return keys


class ClauseParser:
    def __init__(self, cursor: Cursor, input_name: str | None) -> None:
        self.cursor = cursor
        self.input_name = input_name
        self.expressions = ExpressionParser(cursor, reads_aggregates=True)
        self.spans = ClauseSpans()

    def clause(self) -> MatchRecognize:
        cursor = self.cursor
        partition_by = self.partition_keys() if cursor.accept("PARTITION", "BY") else ()
        order_by = self.sort_keys() if cursor.accept("ORDER", "BY") else ()
        measures = listed(cursor, self._measure, "measures", measure_follows) if cursor.accept("MEASURES") else ()
        output, show_timeouts = self._rows_per_match()
        mode, skip = self._after_match()
        self._refuse_seek()
        word = cursor.expect("PATTERN", "(", hint=f"the order is: {_ORDER}")
        pattern = row_pattern(cursor, closing=")")
        self.spans = replace(self.spans, pattern=word.span)
        within = self._within()
        max_length = self._max_length()
        subsets = listed(cursor, self._subset, "union variables", subset_follows) if cursor.accept("SUBSET") else ()
        definitions = (
            listed(cursor, self._definition, "conditions", definition_follows) if cursor.accept("DEFINE") else ()
        )
        max_length = self._max_length(max_length)  # MAXLENGTH may stand here too
        return MatchRecognize(
            pattern=pattern,
            partition_by=partition_by,
            order_by=order_by,
            measures=measures,
            output=output,
            show_timeouts=show_timeouts,
            mode=mode,
            skip=skip,
            within=within,
            max_length=max_length,
            subsets=subsets,
            definitions=definitions,
            input_name=self.input_name,
            text=cursor.text,
            spans=self.spans,
        )

    def _since(self, token: int) -> Span:
        """The span from the token of that number to the last one read."""
        return self.cursor.tokens[token].span.to(self.cursor.tokens[self.cursor.at - 1].span)

    # --- keys ---

    def partition_keys(self) -> tuple[PartitionKey, ...]:
        def key() -> PartitionKey:
            return read_key(self.expressions, self.input_name, "PARTITION BY", is_named=True)

        return listed(self.cursor, key, "columns of PARTITION BY", key_follows)

    def sort_keys(self) -> tuple[SortKey, ...]:
        return listed(self.cursor, self._sort_key, "columns of ORDER BY", key_follows)

    def _sort_key(self) -> SortKey:
        key = read_key(self.expressions, self.input_name, "ORDER BY")
        return SortKey(key.column, *self._direction(), key.expression, key.span)

    def _direction(self) -> tuple[bool, bool | None]:
        """Whether DESC follows, and whether NULLs come first; None for Spark's default."""
        cursor, descending = self.cursor, False
        if cursor.accept("DESC"):
            descending = True
        else:
            cursor.accept("ASC")
        nulls_first = None
        if cursor.accept("NULLS", "FIRST"):
            nulls_first = True
        elif cursor.accept("NULLS", "LAST"):
            nulls_first = False
        if nulls_first is (not descending):  # Spark's default, so that both spellings are the same query
            nulls_first = None
        return descending, nulls_first

    # --- output and skip ---

    def _measure(self) -> Measure:
        cursor = self.cursor
        expression = self.expressions.expression()
        if not (cursor.accept("AS") or alias_follows(cursor)):
            cursor.expect("AS", hint="every measure is named: expression AS name")
        name, span = cursor.name("the measure's name")
        return Measure(name.text, expression, span)

    def _rows_per_match(self) -> tuple[Output, bool]:
        """The output mode, and whether partial matches that timed out are shown like matches."""
        cursor, start = self.cursor, self.cursor.at
        if cursor.accept("ONE", "ROW", "PER", "MATCH"):
            output = Output.ONE_ROW
        elif cursor.accept("ALL", "ROWS", "PER", "MATCH"):
            output = self._all_rows()
        else:
            return Output.ONE_ROW, False
        self.spans = replace(self.spans, rows_per_match=self._since(start))
        start = cursor.at
        show_timeouts = cursor.accept("SHOW", "TIMEOUT", "MATCHES")
        if show_timeouts:
            self.spans = replace(self.spans, timeouts=self._since(start))
        return output, show_timeouts

    def _all_rows(self) -> Output:
        cursor = self.cursor
        if cursor.accept("OMIT", "EMPTY", "MATCHES"):
            return Output.ALL_ROWS_OMIT_EMPTY
        if cursor.accept("WITH", "UNMATCHED", "ROWS"):
            return Output.ALL_ROWS_WITH_UNMATCHED
        cursor.accept("SHOW", "EMPTY", "MATCHES")
        return Output.ALL_ROWS

    def _after_match(self) -> tuple[MatchMode, Skip]:
        mode = self._mode()
        skip = self._skip() if self.cursor.sees("AFTER") else None
        if mode is None:
            mode = self._mode()
        if mode is not None and skip is not None:
            self.cursor.fail(
                f"{mode.value} takes the place of AFTER MATCH SKIP; only one of them can stand here",
                code="SKIP_WITH_MODE",
                span=self.spans.mode,
            )
        return mode or MatchMode.PREFERRED, skip or Skip()

    def _mode(self) -> MatchMode | None:
        start = self.cursor.at
        for mode in (MatchMode.ALL, MatchMode.INCREMENTAL, MatchMode.MAXIMAL):
            if self.cursor.accept(*mode.value.split()):
                self.spans = replace(self.spans, mode=self._since(start))
                return mode
        return None

    def _skip(self) -> Skip:
        cursor = self.cursor
        start = cursor.expect("AFTER", "MATCH", "SKIP").span
        if cursor.accept("PAST", "LAST", "ROW"):
            return Skip(span=start)
        cursor.expect("TO", hint="SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST v, TO LAST v or TO v")
        if cursor.accept("NEXT", "ROW"):
            return Skip(SkipKind.TO_NEXT_ROW, span=start)
        kind = SkipKind.TO_LAST
        if cursor.token.upper in ("FIRST", "LAST") and self._name_follows():
            kind = SkipKind.TO_FIRST if cursor.take().upper == "FIRST" else SkipKind.TO_LAST
        name, span = cursor.name("a pattern variable")
        return Skip(kind, name.folded, span)

    def _name_follows(self) -> bool:
        after = self.cursor.ahead()
        named = after.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
        return named and not (after.upper == "PATTERN" and self.cursor.ahead(2).upper == "(")

    def _refuse_seek(self) -> None:
        for word in ("INITIAL", "SEEK"):
            if self.cursor.sees(word, "PATTERN"):
                self.cursor.fail(
                    f"{word} belongs to row pattern recognition in windows, not to this clause",
                    code="UNSUPPORTED_IN_CLAUSE",
                )

    # --- bounds ---

    def _within(self) -> timedelta | Months | None:
        cursor, start = self.cursor, self.cursor.at
        if not cursor.accept("WITHIN"):
            return None
        written = written_length(cursor, example=_WITHIN_EXAMPLE, not_units=_BEHIND_WITHIN)
        self.spans = replace(self.spans, within=self._since(start))
        length = parse_within(written.text)
        if length is None:
            is_rows = written.text.upper().endswith((" EVENTS", " ROWS"))
            cursor.fail(
                "WITHIN takes an interval that isn't negative, of months or of days and smaller units",
                code="INVALID_WITHIN",
                span=written.span,
                hint="MAXLENGTH 10 limits the rows of a match"
                if is_rows
                else f"e.g. {_WITHIN_EXAMPLE}, or INTERVAL '1' MONTH",
            )
        return length

    def _max_length(self, earlier: int | None = None) -> int | None:
        cursor = self.cursor
        if not cursor.sees("MAXLENGTH"):
            return earlier
        start = cursor.take().span
        token = cursor.take()
        if token.kind is not Kind.NUMBER or not token.text.isdigit() or not 1 <= int(token.text) <= MAX_BOUND:
            cursor.fail(
                f"MAXLENGTH takes a whole number from 1 to {MAX_BOUND}", code="INVALID_MAXLENGTH", span=token.span
            )
        if earlier is not None:
            cursor.fail("MAXLENGTH occurs twice", code="INVALID_MAXLENGTH", span=start)
        return int(token.text)

    # --- variables ---

    def _subset(self) -> Subset:
        cursor = self.cursor
        name, span = cursor.name("the union variable's name")
        cursor.expect("=")
        cursor.expect("(")
        members = listed(cursor, lambda: cursor.name("a pattern variable"), "variables", variable_follows)
        cursor.expect(")")
        names, spans = zip(*members, strict=True)
        return Subset(name.folded, tuple(member.folded for member in names), span, spans)

    def _definition(self) -> Definition:
        cursor = self.cursor
        name, span = cursor.name("a pattern variable")
        cursor.expect("AS", hint="write DEFINE variable AS condition")
        return Definition(name.folded, self.expressions.expression(), span)
