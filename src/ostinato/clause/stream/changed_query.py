"""A stored query + a changed one -> whether the state can go on, and the state for the changed query.

The state of a clause is rows, and for each key the row from which its search goes on. A changed query goes on from that
row: all that the old query decided stays decided. Its stored rows are the rows of the old query, column by column.
Values that the old query didn't compute are evaluated over the stored columns, as in `ost.match`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.clause import MatchRecognize, Output
from ostinato.clause.stream.appended_bucket import opened_bucket
from ostinato.clause.stream.stream_search import needs_of
from ostinato.errors import QueryError
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, Expr, walk
from ostinato.expressions.types import Settings
from ostinato.rows.batches import Mask, row_masks
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.packed_conditions import ConditionPlace, packed_bits
from ostinato.streams.bucket_state import BucketState, header_bytes, other_query, segments_of
from ostinato.streams.stored_state import Section


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A plan, and for each of its row conditions the column and the bit of stored rows that hold it."""

    plan: MatchPlan
    places: Sequence[ConditionPlace]
    types: Mapping[str, str]
    """The types of the input's columns, in words."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that stored rows hold as they are."""
        bound = self.plan.bound
        inputs = (item.name for item in self.plan.inputs if not item.is_computed)
        return tuple(dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by), *inputs)))

    @property
    def computed(self) -> dict[Expr, str]:
        """The columns of stored rows that hold computed values, by expression."""
        return {item.expr: item.name for item in self.plan.inputs if item.is_computed}

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions over one row: those that are stored as columns, then the row conditions."""
        return (*self.computed, *self.plan.row_conditions)


@dataclass(frozen=True, slots=True)
class QueryChange:
    """The change of a stream's query from `then` to `now`, over rows of the schema `shipped`."""

    then: StoredQuery
    now: StoredQuery
    shipped: pa.Schema
    settings: Settings

    def obstacles(self, types: Mapping[str, pa.DataType] | None = None) -> list[str]:
        """Why the state can't go on; empty if it can. `types` of stored columns: also tries expressions."""
        return [*self._of_order(), *self._of_progress(), *self._of_columns(types)]

    def _of_order(self) -> list[str]:
        then, now = self.then.plan.bound, self.now.plan.bound
        reasons = []
        if then.partition_by != now.partition_by or _computed(then.clause) != _computed(now.clause):
            reasons.append("another PARTITION BY needs other keys")
        if _order(then) != _order(now):
            reasons.append("another ORDER BY needs rows in another order")
        return reasons

    def _of_progress(self) -> list[str]:
        then, now = needs_of(self.then.plan), needs_of(self.now.plan)
        before, clause = self.then.plan.bound.clause, self.now.plan.bound.clause
        reasons = []
        if now.before > then.before:
            reasons.append(f"PREV or ^ reads {now.before} rows before a match, and the state keeps {then.before}")
        if now.numbers and not then.numbers:
            reasons.append("MATCH_NUMBER() counts matches, and the state doesn't keep their number for all keys")
        if clause.mode is not before.mode:
            reasons.append("another match mode reports other matches of the same rows")
        if clause.output is Output.ALL_ROWS_WITH_UNMATCHED and before.output is not clause.output:
            reasons.append("WITH UNMATCHED ROWS needs the rows that earlier matches have covered")
        return reasons

    def _of_columns(self, types: Mapping[str, pa.DataType] | None) -> list[str]:
        there = set(self.then.columns)
        reasons = [f"the state doesn't hold the column {name}" for name in self.now.columns if name not in there]
        reasons += self._of_types(types)
        for expr in self._new_expressions():
            missing = sorted({node.name for node in walk(expr) if isinstance(node, Column)} - there)
            text = render_expression(expr)
            if missing:
                reasons.append(f"the state doesn't hold the column {', '.join(missing)}, which {text} needs")
            elif types is not None:
                try:
                    self._prepared(expr, types)
                except QueryError as error:
                    reasons.append(error.message)
        return list(dict.fromkeys(reasons))

    def _of_types(self, types: Mapping[str, pa.DataType] | None) -> list[str]:
        """Stored values are never converted. They and the columns that they were computed from keep their types."""
        then, now = self.then.types, self.now.types
        read = {node.name for expr in self.now.expressions for node in walk(expr) if isinstance(node, Column)}
        names = [name for name in dict.fromkeys((*self.now.columns, *sorted(read))) if name in then]
        reasons = [_of_type(f"the column {name}", then[name], now[name]) for name in names if then[name] != now[name]]
        if reasons or types is None:
            return reasons
        columns = [(f"the column {name}", name, name) for name in self.now.columns if name in types]
        columns += [(render_expression(expr), old, self.now.computed[expr]) for expr, old in self._reused.items()]
        pairs = [(subject, types[old], self.shipped.field(new).type) for subject, old, new in columns]
        return [_of_type(subject, old, new) for subject, old, new in pairs if old != new]

    @property
    def _reused(self) -> dict[Expr, str]:
        """The columns of stored rows with computed values that the changed query reads, too."""
        return {expr: name for expr, name in self.then.computed.items() if expr in self.now.computed}

    def _new_expressions(self) -> list[Expr]:
        """Inputs and row conditions that the old query didn't compute."""
        then, now = self.then, self.now
        computed = [expr for expr in now.computed if expr not in then.computed]
        return computed + [expr for expr in now.plan.row_conditions if expr not in then.plan.row_conditions]

    # --- rows ---

    def carried_over(self, state: BucketState, then: str, now: str) -> BucketState:
        """The state for the changed query. `then` and `now` are the fingerprints of both."""
        opened = opened_bucket(state, then)
        return BucketState(
            header_bytes(opened.keys, opened.known_until, now),
            segments_of(self._rows(opened.open_rows), Section.OPEN_ROWS),
            segments_of(self._rows(opened.waiting), Section.WAITING_ROWS),
        )

    def _rows(self, stored: pa.RecordBatch | None) -> pa.RecordBatch | None:
        """Stored rows with the columns of the changed query, then those that aren't shipped columns."""
        if stored is None:
            return None
        arrays = dict(zip(stored.schema.names, stored.columns, strict=True))
        types = {field.name: field.type for field in stored.schema}
        obstacles = self._of_types(types)
        if obstacles:
            raise other_query("; ".join(obstacles))
        count, leaf = stored.num_rows, by_column_name(arrays)

        def evaluated(expr: Expr) -> PreparedExpression:
            return self._prepared(expr, types)

        columns = {name: arrays[name] for name in self.now.columns}
        for expr, name in self.now.computed.items():
            old, kind = self._reused.get(expr), self.shipped.field(name).type
            columns[name] = evaluated(expr).evaluate(leaf, count).cast(kind) if old is None else arrays[old]
        masks = self._masks(arrays, lambda expr: evaluated(expr).mask(leaf, count))
        columns |= packed_bits(masks, self.now.places, count)
        ours = {*self.then.columns, *self.then.computed.values(), *(name for name, _ in self.then.places)}
        names = [*self.shipped.names, *(name for name in arrays if name not in ours)]
        return pa.RecordBatch.from_arrays([{**arrays, **columns}[name] for name in names], names=names)

    def _masks(self, arrays: Mapping[str, pa.Array], evaluated: Callable[[Expr], Mask]) -> list[Mask]:
        """The row conditions of the changed query; those that the old one has, too, as they were stored."""
        known = dict(zip(self.then.plan.row_conditions, row_masks(arrays, self.then.places), strict=True))
        return [known[expr] if expr in known else evaluated(expr) for expr in self.now.plan.row_conditions]

    def _prepared(self, expr: Expr, types: Mapping[str, pa.DataType]) -> PreparedExpression:
        return prepare(expr, by_column_name(types), self.settings)


def _order(bound: BoundClause) -> list[tuple[str, bool, bool]]:
    return [(key.column, key.key.descending, key.key.puts_nulls_first) for key in bound.order_by]


def _computed(clause: MatchRecognize) -> dict[str, Expr]:
    """The keys that are expressions, by the names of their columns."""
    return {key.column.text: key.expression for key in clause.keys if key.expression is not None}


def _of_type(subject: str, then: object, now: object) -> str:
    return f"{subject} is {then} in the state, and {now} now"
