"""The keys with stored rows. A step that only appends rows to a key needs nothing but its entry here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.numbered_rows import IN_HEADER, rows_of_keys
from ostinato.rows.batches import Mask
from ostinato.rows.matches import ranges
from ostinato.rule_sets.declaration import Declaration
from ostinato.streams.bucket_state import Rows
from ostinato.streams.intake import Gate
from ostinato.streams.record_batches import joined


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """One entry for each key with stored rows."""

    values: tuple[pa.Array, ...]
    """The columns of the keys."""
    rows: Rows
    """The number of stored rows."""
    segment: Rows
    """The number of the key in the segments, or IN_HEADER: all its rows are recent ones."""
    first_us: Rows
    """The time of the first stored row."""
    state_bytes: Rows
    """The bytes of all stored rows, rounded up."""
    most_recent: int
    """The number of last rows of each key that are also in the header. A key with more rows has all in segments."""
    recent: pa.RecordBatch | None
    """The last rows of each key, key after key."""

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def recent_counts(self) -> Rows:
        return np.minimum(self.rows, self.most_recent)

    @property
    def recent_first(self) -> Rows:
        """The index of each key's first recent row."""
        counts = self.recent_counts
        return np.cumsum(counts) - counts

    def last_us(self, gate: Gate) -> Rows:
        """The time of the last row of each key. There must be recent rows."""
        return gate.times(self.recent)[np.cumsum(self.recent_counts) - 1]

    @property
    def has_older_rows(self) -> Mask:
        """The keys with rows that aren't in the header."""
        result: Mask = self.segment != IN_HEADER
        return result

    def recent_of(self, chosen: Rows) -> pa.RecordBatch | None:
        """The recent rows of these keys, key after key."""
        if self.recent is None or len(chosen) == self.count:
            return self.recent
        return self.recent.take(pa.array(ranges(self.recent_first[chosen], self.recent_counts[chosen])))

    def rows_of(self, segments: Sequence[bytes], chosen: Rows) -> pa.RecordBatch | None:
        """All rows of these keys, key after key, from the header and the segments."""
        if not len(chosen):
            return None
        in_header = self.recent_of(chosen[~self.has_older_rows[chosen]])
        return rows_of_keys(segments, self.segment[chosen], self.rows[chosen], in_header)

    def select(self, chosen: Rows) -> StoredKeys:
        if len(chosen) == self.count:
            return self
        return StoredKeys(
            tuple(column.take(pa.array(chosen)) for column in self.values),
            self.rows[chosen],
            self.segment[chosen],
            self.first_us[chosen],
            self.state_bytes[chosen],
            self.most_recent,
            self.recent_of(chosen),
        )

    def followed_by(self, more: StoredKeys) -> StoredKeys:
        if not self.count or not more.count:
            return self if self.count else more
        return StoredKeys(
            tuple(pa.concat_arrays(pair) for pair in zip(self.values, more.values, strict=True)),
            np.concatenate([self.rows, more.rows]),
            np.concatenate([self.segment, more.segment]),
            np.concatenate([self.first_us, more.first_us]),
            np.concatenate([self.state_bytes, more.state_bytes]),
            self.most_recent,
            joined([self.recent, more.recent]),
        )


def no_keys(declared: Declaration, most_recent: int = 0) -> StoredKeys:
    none = np.empty(0, np.int64)
    values = tuple(pa.array([], declared.schema.field(name).type) for name in declared.keys)
    return StoredKeys(values, none, none, none, none, most_recent, None)
