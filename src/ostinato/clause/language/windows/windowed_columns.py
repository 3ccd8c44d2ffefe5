"""The columns of a block's input, and the names of the block -> those of the columns that a window reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import replace

from ostinato.clause.language.windows.block_tables import BlockTable
from ostinato.clause.language.windows.select_blocks import StatementTokens
from ostinato.clause.query.clause import Definition, MatchRecognize
from ostinato.clause.query.pattern import variables
from ostinato.errors import Span, did_you_mean
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Field, Name, rebuild


class WindowColumns(ABC):
    """The names that columns of the block have while windows read them."""

    @abstractmethod
    def of(self, column: ColumnRef) -> Name:
        """The name of a column of the block."""

    @abstractmethod
    def in_match(self, expr: Expr, clause: MatchRecognize) -> Expr:
        """An expression of MEASURES or DEFINE with these names."""

    def in_clause(self, clause: MatchRecognize) -> MatchRecognize:
        """The clause with these names in DEFINE."""
        definitions = [
            Definition(each.variable, self.in_match(each.condition, clause), each.span) for each in clause.definitions
        ]
        return replace(clause, definitions=tuple(definitions))


class InputColumns(WindowColumns):
    """The columns of the tables of a block, one after the other.

    A column keeps its name if no other table has it. Otherwise a window reads it under a name that nobody writes.
    """

    def __init__(
        self,
        tokens: StatementTokens,
        tables: Sequence[BlockTable],
        fields: Sequence[Sequence[str]],
        computed: tuple[str, ...],
    ) -> None:
        self.tokens = tokens
        self.tables = tables
        self.fields = fields
        self.computed = computed
        self.fold = tokens.settings.fold
        folded = [self.fold(name) for names in fields for name in names]
        self._name_of: dict[tuple[int, str], str] = {
            (table, name): name if folded.count(self.fold(name)) == 1 else f"_ost_c{table}_{position}"
            for table, names in enumerate(fields)
            for position, name in enumerate(names)
        }

    @property
    def in_windows(self) -> list[tuple[str, str, str]]:
        """Struct, field, and the column's name while windows read it."""
        return [(f"_ost_t{table}", name, column) for (table, name), column in self._name_of.items()]

    @property
    def by_table(self) -> list[list[tuple[str, str]]]:
        """For each table, the columns behind the windows: the name then, and the name in the table."""
        numbers = {key: f"_ost_c{i}" for i, key in enumerate(self._name_of)}
        return [[(numbers[table, name], name) for name in names] for table, names in enumerate(self.fields)]

    def of(self, column: ColumnRef) -> Name:
        """The name of a column that is written with or without its table. Unknown ones keep the name, for an error."""
        *qualifier, name = column.parts
        found = [
            inner
            for (table, field), inner in self._name_of.items()
            if self.fold(field) == self.fold(name.text) and (not qualifier or self._is_named(table, qualifier[0]))
        ]
        text = ".".join(part.text for part in column.parts)
        span = column.span
        assert span is not None
        if len(found) > 1:
            hint = f"write the table's name in front: {self.tables[0].name or 't'}.{name.text}"
            self.tokens.fail(span, f"several tables have a column '{text}'", "AMBIGUOUS_COLUMN", hint)
        if not found:
            near = did_you_mean(name.text, [field for _, field in self._name_of])
            self.tokens.fail(span, f"no table of this block has a column '{text}'", "UNKNOWN_COLUMN", near)
        return Name(found[0], quoted=True)

    def _is_named(self, table: int, name: Name) -> bool:
        return self.fold(self.tables[table].name or "") == self.fold(name.text)

    def check_table(self, name: str, span: Span | None) -> None:
        """Raises UNKNOWN_COLUMN unless `name.*` are columns of a table here. An empty name stands for all tables."""
        if name and not any(self._is_named(table, Name(name)) for table in range(len(self.tables))):
            assert span is not None
            self.tokens.fail(span, f"no table of this block has the name '{name}'", "UNKNOWN_COLUMN")

    def in_row(self, expr: Expr, values: Set[str] = frozenset()) -> Expr:
        """An expression of the block over one row, with the names that the columns have while windows read them.

        `values` are columns that are there already.
        """
        if not isinstance(expr, ColumnRef):
            return rebuild(expr, lambda child: self.in_row(child, values))
        first, *rest = expr.parts
        if first.text in values:
            return expr
        if rest and any(self._is_named(table, first) for table in range(len(self.tables))):
            column, *fields = rest
            result: Expr = ColumnRef((self.of(ColumnRef((first, column), expr.span)),), expr.span)
        else:
            fields = rest
            result = ColumnRef((self.of(ColumnRef((first,), expr.span)),), expr.span)
        for name in fields:
            result = Field(result, name, expr.span)
        return result

    def in_match(self, expr: Expr, clause: MatchRecognize) -> Expr:
        """An expression of MEASURES or DEFINE, where variables may stand in front of columns."""
        if isinstance(expr, Call) and expr.name == "classifier":
            return expr
        if not isinstance(expr, ColumnRef):
            return rebuild(expr, lambda child: self.in_match(child, clause))
        names = {*variables(clause.pattern), *(subset.name for subset in clause.subsets)}
        first, *rest = expr.parts
        before: tuple[Name, ...] = ()
        if rest and first.folded in names:
            before, (first, *rest) = (first,), rest
        elif rest and any(self._is_named(table, first) for table in range(len(self.tables))):
            return ColumnRef((self.of(ColumnRef((first, rest[0]), expr.span)), *rest[1:]), expr.span)
        if not any(self.fold(field) == self.fold(first.text) for _, field in self._name_of):
            return expr  # binding names the variables, too
        return ColumnRef((*before, self.of(ColumnRef((first,), expr.span)), *rest), expr.span)
