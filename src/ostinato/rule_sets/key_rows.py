"""The rows of a step as all rules see them. Conditions and vectors that several rules need are evaluated once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions.evaluate import Leaf, PreparedExpression
from ostinato.expressions.syntax import Column
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.values.vectors import Vector, from_arrow
from ostinato.rows.batches import Batch, Mask
from ostinato.rule_sets.row_bytes import bytes_until
from ostinato.streams.bucket_state import Rows


@dataclass(frozen=True, slots=True)
class RowConditions:
    """The expressions of a rule over a single row, each with its text. Equal texts mean equal values."""

    masks: tuple[tuple[str, PreparedExpression], ...]
    inputs: Mapping[str, tuple[str, PreparedExpression]]
    """Computed columns by name."""


class KeyRows:
    """The rows of some keys in the order of matching; stored rows of a key come before its new ones.

    Not all stored rows of a key need be here, but always its last ones. Rows that aren't here have numbers, too: those
    before the number of the key's first row.
    """

    def __init__(
        self,
        columns: Mapping[str, pa.Array],
        times: NDArray[np.int64],
        key_at: Rows,
        stored: Rows,
        missing: Rows,
        settings: Settings = Settings(),
    ) -> None:
        """For each key, `stored` is the number of its stored rows that are here, `missing` of those that aren't."""
        self.columns = columns
        self.times = times
        self.key_at = key_at
        self.stored = stored
        self.missing = missing
        self.settings = settings
        self.count = int(key_at[-1])
        self.stored_end = key_at[:-1] + stored
        self.first_stored = key_at[:-1] - missing
        """The number of each key's first stored row, which need not be here."""
        self._bytes_until: NDArray[np.float64] | None = None
        self._vectors: dict[str, Vector] = {}
        self._masks: dict[str, Mask] = {}
        self._arrays: dict[str, pa.Array] = {}

    def evaluated(self, conditions: RowConditions) -> Batch:
        """All rows with the expressions of one rule. Raises MatchError if one of them fails for some row."""
        for text, ready in conditions.masks:
            if text not in self._masks:
                self._masks[text] = ready.mask(self._leaf, self.count)
        for text, ready in conditions.inputs.values():
            if text not in self._arrays:
                self._arrays[text] = ready.evaluate(self._leaf, self.count)
        arrays = {name: self._arrays[text] for name, (text, _) in conditions.inputs.items()}
        return Batch(self.count, {**self.columns, **arrays}, [self._masks[text] for text, _ in conditions.masks])

    def evaluated_part(self, conditions: RowConditions, rows: Rows) -> Batch:
        """Some rows with the expressions of one rule; raises as `evaluated` does."""
        columns = ChosenRows(self.columns, rows)
        leaf: Leaf = lambda node: columns.get(node.name) if isinstance(node, Column) else None  # noqa: E731
        arrays = {name: ready.evaluate(leaf, len(rows)) for name, (_, ready) in conditions.inputs.items()}
        masks = [ready.mask(leaf, len(rows)) for _, ready in conditions.masks]
        return Batch(len(rows), {**columns, **arrays}, masks)

    def bytes_from(self, start: Rows) -> NDArray[np.float64]:
        """The bytes of all rows of each key from its `start` on, which must be here."""
        if self._bytes_until is None:
            self._bytes_until = bytes_until(self.columns.values(), self.count)
        return self._bytes_until[self.key_at[1:]] - self._bytes_until[start]

    def _leaf(self, node: object) -> Vector | None:
        if not isinstance(node, Column) or node.name not in self.columns:
            return None
        if node.name not in self._vectors:
            column = self.columns[node.name]
            self._vectors[node.name] = from_arrow(column, normalise(column.type, self.settings))
        return self._vectors[node.name]


class ChosenRows(Mapping[str, pa.Array]):
    """Columns at some rows. A column is taken when it is first read: a rule seldom reads all of them."""

    def __init__(self, columns: Mapping[str, pa.Array], rows: Rows) -> None:
        self._columns = columns
        self._rows = pa.array(rows)
        self._taken: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._taken:
            self._taken[name] = self._columns[name].take(self._rows)
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def chosen(batch: Batch, rows: Rows) -> Batch:
    """These rows of a batch."""
    return Batch(len(rows), ChosenRows(batch.arrays, rows), [mask[rows] for mask in batch.row_masks])
