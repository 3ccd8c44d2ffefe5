"""A clause tied to the columns of one input: every name resolved, every navigation explicit. No types yet."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.query.clause import MatchRecognize, Measure, Output, SortKey
from ostinato.expressions.syntax import Expr
from ostinato.rows.column_names import KEY


@dataclass(frozen=True, slots=True)
class BoundKey:
    """A sort key whose column is known."""

    column: str
    key: SortKey


@dataclass(frozen=True, slots=True)
class BoundClause:
    """`conditions` holds the DEFINE condition of each primary variable that has one."""

    clause: MatchRecognize
    columns: tuple[str, ...]
    variables: tuple[str, ...]
    partition_by: tuple[str, ...]
    order_by: tuple[BoundKey, ...]
    measures: tuple[Measure, ...]
    conditions: dict[str, Expr]
    unions: dict[str, frozenset[str]]
    shows_order: bool = False
    """Whether the output has the order columns in any case: a stream that shows late rows tells their times."""

    @property
    def shows_all_rows(self) -> bool:
        return self.clause.output is not Output.ONE_ROW

    @property
    def shown_order(self) -> tuple[str, ...]:
        """The order columns that ALL ROWS PER MATCH shows after the partition columns; `shows_order`: always."""
        order = dict.fromkeys(key.column for key in self.order_by if not key.column.startswith(KEY))
        is_shown = self.shows_all_rows or self.shows_order
        return tuple(name for name in order if name not in self.partition_by) if is_shown else ()

    @property
    def shown_rest(self) -> tuple[str, ...]:
        """The input columns that ALL ROWS PER MATCH shows after the measures."""
        if not self.shows_all_rows:
            return ()
        before = {*self.partition_by, *self.shown_order}
        return tuple(name for name in self.columns if name not in before and not name.startswith(KEY))

    @property
    def output_names(self) -> tuple[str, ...]:
        measures = tuple(measure.name for measure in self.measures)
        keys = tuple(name for name in self.partition_by if not name.startswith(KEY))
        return (*keys, *self.shown_order, *measures, *self.shown_rest)

    def rows_of(self, name: str) -> frozenset[str]:
        """The primary variables that a variable or union variable stands for."""
        return self.unions.get(name, frozenset((name,)))
