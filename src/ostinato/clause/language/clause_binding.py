"""Parsed clause + the input's column names -> bound clause, in which every name and navigation is resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from ostinato.clause.language import vocabulary
from ostinato.clause.language.aggregate_binding import AggregateBinder, Argument
from ostinato.clause.language.clause_checks import unknown_variable
from ostinato.clause.language.key_columns import refused_key
from ostinato.clause.language.other_words import OTHER_WORDS, SHIFTS, in_standard_words, is_around_current_row
from ostinato.clause.language.output_checks import check_output_columns
from ostinato.clause.query.bound_clause import BoundClause, BoundKey
from ostinato.clause.query.clause import MatchMode, MatchRecognize, Measure, PartitionKey, SortKey
from ostinato.clause.query.pattern import variables
from ostinato.errors import QueryError, Span, warn
from ostinato.expressions.foreign_names import function_hint, word_hint
from ostinato.expressions.nondeterministic import NONDETERMINISTIC
from ostinato.expressions.parsing import is_niladic
from ostinato.expressions.syntax import (
    Anchor,
    Call,
    Column,
    ColumnRef,
    Expr,
    Field,
    Literal,
    MatchIdentity,
    MatchNumber,
    ModifiedCall,
    Name,
    NamedArgument,
    Navigation,
    RowClassifier,
    RowSet,
    Star,
    rebuild,
)
from ostinato.rows.column_lookup import ColumnLookup

MAX_OFFSET = 2**31 - 1


def bind(
    clause: MatchRecognize, columns: Sequence[str], *, case_sensitive: bool = False, shows_order: bool = False
) -> BoundClause:
    """Resolves every name; raises QueryError with a caret for one that can't be resolved.

    `shows_order`: the output has the order columns also with ONE ROW PER MATCH.
    """
    names = _Names(clause, tuple(columns), case_sensitive)
    partition = tuple(names.key(key) for key in clause.partition_by)
    order = tuple(BoundKey(names.key(key), key) for key in clause.order_by)
    measures = tuple(
        replace(measure, expression=_Binder(names, in_define=False).bind(measure.expression))
        for measure in clause.measures
    )
    measures += tuple(Measure(name, MatchIdentity(kind, clause.ids.rule)) for kind, name in clause.ids.by_kind())
    conditions = {
        definition.variable: _Binder(names, in_define=True).bind(definition.condition)
        for definition in clause.definitions
    }
    unions = {subset.name: frozenset(subset.members) for subset in clause.subsets}
    bound = BoundClause(
        clause, tuple(columns), names.primary, partition, order, measures, conditions, unions, shows_order
    )
    check_output_columns(bound, names.columns.fold)  # last: other errors of the query come first
    return bound


class _Names:
    """The names that a clause may use: columns of the input, variables, union variables."""

    def __init__(self, clause: MatchRecognize, columns: tuple[str, ...], case_sensitive: bool) -> None:
        self.clause = clause
        self.columns = ColumnLookup(columns, case_sensitive)
        self.primary = variables(clause.pattern)
        self.unions = {subset.name: frozenset(subset.members) for subset in clause.subsets}

    def fail(self, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.clause.text, span=span, hint=hint)

    def column(self, name: Name, span: Span | None, hint: str | None = None) -> str:
        text = self.clause.text
        if text is not None and span is not None and text[span.start] == '"':
            hint = f"double quotes enclose a name here; a text is written '{name.text}'"
        return self.columns.column(name.text, text=text, span=span, hint=hint)

    def key(self, key: PartitionKey | SortKey) -> str:
        """The column of a key; that of an expression, if the caller has computed it (`key_columns.py`)."""
        if key.expression is not None and key.column.text not in self.columns.columns:
            raise refused_key(self.clause, key)
        return self.column(key.column, key.span)

    @property
    def example_column(self) -> str:
        """A column for hints, if possible one that is no key."""
        clause, fold = self.clause, self.columns.fold
        keys = {fold(key.column.text) for key in clause.partition_by} | {
            fold(key.column.text) for key in clause.order_by
        }
        return next((name for name in self.columns.columns if fold(name) not in keys), "x")

    def warn_of_text(self, literal: Literal) -> None:
        """Warns of a text in double quotes that is the name of a column."""
        name = literal.text[1:-1]
        if literal.kind == "string" and literal.text[0] == '"' and name in self.columns:
            warn(f"{literal.text} is a text here, not the column: write `{name}` for the column, '{name}' for the text")

    def has_column(self, name: Name) -> bool:
        return name.text in self.columns

    def is_input(self, name: Name) -> bool:
        """Whether it is the name of the input: a table's own name or its alias."""
        return self.columns.fold(name.text) == self.columns.fold(self.clause.input_name or "")

    def rows(self, name: Name) -> RowSet:
        """The primary variables of a (union) variable, or None when there is no such variable."""
        if name.folded in self.primary:
            return frozenset((name.folded,))
        return self.unions.get(name.folded)

    def variable(self, name: Name, span: Span | None) -> RowSet:
        rows = self.rows(name)
        if rows is None:
            unknown_variable(self.clause, name.text, (*self.primary, *self.unions), span)
        return rows


class _Binder:
    """Binds one expression of MEASURES or DEFINE."""

    def __init__(self, names: _Names, *, in_define: bool) -> None:
        self.names = names
        self.in_define = in_define

    # --- around navigations ---

    def bind(self, expr: Expr) -> Expr:
        """An expression outside of any navigation: bare references mean RUNNING LAST."""
        match expr:
            case ColumnRef():
                return self._outer_reference(expr)
            case Call(name=name) if name in vocabulary.LOGICAL_NAVIGATION:
                return self._logical(expr)
            case Call(name=name) if name in vocabulary.PHYSICAL_NAVIGATION:
                return self._physical(expr)
            case Call(name="classifier"):
                self._no_semantics(expr)
                return Navigation(RowClassifier(expr.span), self._classifier_rows(expr), Anchor.LAST, span=expr.span)
            case Call(name="match_number"):
                return self._match_number(expr)
            case Call(name=name) if name in OTHER_WORDS:
                return self._other_word(expr)
            case Call(name=name) if vocabulary.aggregate_name(name) is not None:
                return self._aggregate(ModifiedCall(expr, span=expr.span))
            case ModifiedCall():
                return self._aggregate(expr)
            case Call():
                self._plain_call(expr, refuse_nondeterministic=self.in_define)
            case Literal():
                self.names.warn_of_text(expr)
            case Star():
                self.names.fail("SYNTAX_ERROR", "'*' may only stand inside COUNT", expr.span)
        return rebuild(expr, self.bind)

    def _other_word(self, call: Call) -> Expr:
        bound = self.bind(in_standard_words(call, self.names.clause, in_define=self.in_define))
        if isinstance(bound, Navigation) and call.name in SHIFTS and not is_around_current_row(bound):
            standard = SHIFTS[call.name].upper()
            message, hint = f"{call.name.upper()} reads around the current row only", f"write {standard}(...)"
            self.names.fail("UNSUPPORTED_FUNCTION", message, call.span, hint)
        return bound

    def _outer_reference(self, expr: ColumnRef) -> Expr:
        if self._is_niladic(expr):
            return Call(expr.parts[0].text.lower(), span=expr.span)
        qualifier, row_expr = self._resolve(expr)
        rows = None if qualifier is None else self.names.variable(qualifier, expr.span)
        return Navigation(row_expr, rows, Anchor.LAST, span=expr.span)

    def _is_niladic(self, expr: ColumnRef) -> bool:
        first = expr.parts[0]
        return len(expr.parts) == 1 and is_niladic(first.text) and not self.names.has_column(first)

    def _variable_hint(self, name: Name, function: str | None) -> str | None:
        """The hint for a variable that stands where a column belongs; None for other names."""
        if self.names.rows(name) is None:
            return None
        if function == "COUNT":
            return f"'{name.text}' is a pattern variable: count({name.text}.*) counts its rows"
        column = f"{name.text}.{self.names.example_column}"
        example = f"{function}({column})" if function else column
        return f"'{name.text}' is a pattern variable: name a column of its rows, such as {example}"

    def _resolve(self, expr: ColumnRef, function: str | None = None) -> tuple[Name | None, Expr]:
        """The qualifying variable, if any, and the column with the fields taken from it."""
        first, *rest = expr.parts
        qualifier = None
        if rest and self.names.rows(first) is not None:
            qualifier, (first, *rest) = first, rest
        elif rest and not self.names.has_column(first):
            if self.names.is_input(first):
                first, *rest = rest
            else:
                self.names.variable(first, expr.span)  # raises UNKNOWN_VARIABLE
        hint = None if qualifier is not None or rest else self._variable_hint(first, function) or word_hint(first.text)
        row_expr: Expr = Column(self.names.column(first, expr.span, hint), expr.span)
        for name in rest:
            row_expr = Field(row_expr, name, expr.span)
        return qualifier, row_expr

    # --- navigations ---

    def _logical(self, call: Call) -> Navigation:
        final = self._is_final(call)
        operand, skip = self._navigation_arguments(call, default=0)
        argument = Argument(call.name.upper())
        row_expr = self._operand(operand, argument)
        self._must_refer(argument, call)
        anchor = Anchor.FIRST if call.name == "first" else Anchor.LAST
        return Navigation(row_expr, argument.rows, anchor, skip=skip, final=final, span=call.span)

    def _physical(self, call: Call) -> Navigation:
        self._no_semantics(call)
        operand, distance = self._navigation_arguments(call, default=1)
        shift = -distance if call.name == "prev" else distance
        if isinstance(operand, Call) and operand.name in vocabulary.LOGICAL_NAVIGATION:
            return replace(self._logical(operand), shift=shift, span=call.span)
        argument = Argument(call.name.upper())
        row_expr = self._operand(operand, argument)
        self._must_refer(argument, call)
        return Navigation(row_expr, argument.rows, Anchor.LAST, shift=shift, span=call.span)

    def _navigation_arguments(self, call: Call, *, default: int) -> tuple[Expr, int]:
        if not 1 <= len(call.args) <= 2 or call.distinct or any(isinstance(arg, NamedArgument) for arg in call.args):
            word = call.name.upper()
            hint = f"write coalesce({word}(x, 1), 0) for a default" if len(call.args) == 3 else None
            self.names.fail("INVALID_NAVIGATION", f"{word} takes an expression and an offset", call.span, hint)
        if len(call.args) == 1:
            return call.args[0], default
        offset = call.args[1]
        if not (isinstance(offset, Literal) and offset.kind == "number" and offset.text.rstrip("lLsSyY").isdigit()):
            self.names.fail(
                "INVALID_NAVIGATION",
                f"the offset of {call.name.upper()} must be a whole number that isn't negative, written as a literal",
                offset.span,
            )
        distance = int(offset.text.rstrip("lLsSyY"))
        if distance > MAX_OFFSET:
            self.names.fail("INVALID_NAVIGATION", f"offsets go up to {MAX_OFFSET}", offset.span)
        return call.args[0], distance

    def _must_refer(self, argument: Argument, call: Call) -> None:
        if not argument.refers:
            self.names.fail(
                "INVALID_NAVIGATION", f"{argument.function} needs a column or CLASSIFIER() in its argument", call.span
            )

    def _is_final(self, call: Call) -> bool:
        if call.semantics == "final" and self.in_define:
            self.names.fail("FINAL_IN_DEFINE", "FINAL can't be used in DEFINE: the match isn't known yet", call.span)
        return call.semantics == "final"

    def _no_semantics(self, call: Call) -> None:
        if call.semantics is not None:
            self.names.fail(
                "INVALID_NAVIGATION",
                f"{call.semantics.upper()} goes with FIRST, LAST and aggregates, not with {call.name.upper()}",
                call.span,
            )

    # --- aggregates ---

    def _aggregate(self, written: ModifiedCall) -> Expr:
        if vocabulary.aggregate_name(written.call.name) is None:
            self._plain_call(written.call, refuse_nondeterministic=False)
            message = f"FILTER, ORDER BY and IGNORE NULLS go with aggregates, not with {written.call.name}"
            hint = {"first": "first_value takes them", "last": "last_value takes them"}.get(written.call.name)
            self.names.fail("INVALID_ARGUMENTS", message, written.span, hint)
        return AggregateBinder(self.names, self._operand, written).bind(final=self._is_final(written.call))

    # --- inside navigations and aggregates: one row ---

    def _operand(self, expr: Expr, argument: Argument) -> Expr:
        """An expression over one row. Notes the variable of that row, and refuses a second one."""
        match expr:
            case ColumnRef():
                if self._is_niladic(expr):
                    return Call(expr.parts[0].text.lower(), span=expr.span)
                qualifier, row_expr = self._resolve(expr, argument.function)
                self._note(
                    argument, None if qualifier is None else self.names.variable(qualifier, expr.span), expr.span
                )
                return row_expr
            case Call(name="classifier"):
                self._no_semantics(expr)
                self._note(argument, self._classifier_rows(expr), expr.span)
                return RowClassifier(expr.span)
            case Call(name="match_number"):
                return self._match_number(expr)
            case Call(name=name) if name in vocabulary.LOGICAL_NAVIGATION | vocabulary.PHYSICAL_NAVIGATION:
                self.names.fail(
                    "INVALID_NAVIGATION",
                    f"{name.upper()} can't stand inside {argument.function}",
                    expr.span,
                    "only FIRST or LAST may stand inside PREV or NEXT, directly and once",
                )
            case Call(name=name) | ModifiedCall(call=Call(name=name)) if (
                isinstance(expr, ModifiedCall) or vocabulary.aggregate_name(name) is not None
            ):
                self.names.fail(
                    "NESTED_AGGREGATE", f"the aggregate {name} can't stand inside {argument.function}", expr.span
                )
            case Call():
                self._plain_call(expr, refuse_nondeterministic=True)
            case Literal():
                self.names.warn_of_text(expr)
            case Star():
                self.names.fail("SYNTAX_ERROR", "'*' may only stand inside COUNT", expr.span)
        return rebuild(expr, lambda child: self._operand(child, argument))

    def _note(self, argument: Argument, rows: RowSet, span: Span | None) -> None:
        qualified = rows is not None
        if argument.refers and (argument.qualified != qualified or argument.rows != rows):
            self.names.fail(
                "MIXED_VARIABLES",
                f"the argument of {argument.function} speaks of more than one variable",
                span,
                "one navigation or aggregate reads rows of one variable; combine several of them instead",
            )
        argument.refers, argument.qualified, argument.rows = True, qualified, rows

    def _classifier_rows(self, call: Call) -> RowSet:
        if not call.args:
            return None
        argument = call.args[0]
        if len(call.args) > 1 or not (isinstance(argument, ColumnRef) and len(argument.parts) == 1):
            self.names.fail("INVALID_NAVIGATION", "CLASSIFIER takes nothing or one pattern variable", call.span)
        return self.names.variable(argument.parts[0], argument.span)

    def _match_number(self, call: Call) -> MatchNumber:
        self._no_semantics(call)
        if call.args:
            self.names.fail("INVALID_NAVIGATION", "MATCH_NUMBER takes no argument", call.span)
        mode = self.names.clause.mode
        if self.in_define and mode is not MatchMode.PREFERRED:
            self.names.fail(
                "UNSUPPORTED_IN_CLAUSE", f"MATCH_NUMBER() in DEFINE has no meaning with {mode.value}", call.span
            )
        return MatchNumber(call.span)

    def _plain_call(self, call: Call, *, refuse_nondeterministic: bool) -> None:
        self._no_semantics(call)
        if call.name in vocabulary.OTHER_AGGREGATES:
            supported = f"supported: {', '.join(sorted(vocabulary.AGGREGATE_ARGUMENTS))}"
            self.names.fail(
                "UNSUPPORTED_FUNCTION",
                f"the aggregate {call.name} isn't supported inside MATCH_RECOGNIZE",
                call.span,
                function_hint(call.name) or supported,
            )
        if call.name in vocabulary.GENERATORS:
            self.names.fail(
                "UNSUPPORTED_FUNCTION",
                f"{call.name} makes several rows of one; a measure is one value",
                call.span,
                "apply it to the clause's output",
            )
        if call.name in vocabulary.WINDOW_FUNCTIONS:
            self.names.fail(
                "UNSUPPORTED_FUNCTION",
                f"the window function {call.name} isn't supported inside MATCH_RECOGNIZE",
                call.span,
                vocabulary.WINDOW_FUNCTIONS[call.name],
            )
        if call.distinct:
            self.names.fail("INVALID_ARGUMENTS", f"DISTINCT goes with aggregates, not with {call.name}", call.span)
        if refuse_nondeterministic and call.name in NONDETERMINISTIC:
            self.names.fail(
                "NONDETERMINISTIC_FUNCTION", f"{call.name} may differ each time it is asked for one row", call.span
            )
