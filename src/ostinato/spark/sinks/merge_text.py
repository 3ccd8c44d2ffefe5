"""Keys and versions of rows -> SQL: when two rows are one, which of them is later, and the MERGE statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.errors import MatchError, OstinatoError, carried
from ostinato.expressions.render import quote
from ostinato.streams.stream_settings import EXTENDED, FINAL, OPEN, WITHDRAWN

WRITE = "upsert_write"
"""The column with the name of a write. It begins with the number of the micro-batch: `b`, then 20 digits."""
_BATCH = "substring({}upsert_write, 1, 21)"
_STATUSES = (OPEN, EXTENDED, FINAL, WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Versions:
    """The columns that identify a row, and those by which one version of it is later than another.

    Early results have a status. A later micro-batch replaces their rows, until one is final: a run may be withdrawn and
    open again.
    """

    key: tuple[str, ...]
    status: str | None = None
    latest_by: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row that are compared."""
        return (*self.key, *(() if self.status is None else (self.status,)), *self.latest_by)

    @property
    def is_single(self) -> bool:
        """Whether all rows with a key are the same row."""
        return self.status is None and not self.latest_by

    def newest_first(self) -> str:
        """The order of the rows of one key, for ORDER BY."""
        return ", ".join(f"{value} DESC NULLS LAST" for value in self._values(""))

    def is_later(self, one: str, other: str) -> str:
        """A condition: the row of one alias is a later version than that of the other. NULL is before all values."""
        later = "false"
        for a, b in reversed(list(zip(self._values(f"{one}."), self._values(f"{other}."), strict=True))):
            is_next = f"{a} > {b} OR ({a} IS NOT NULL AND {b} IS NULL)"
            later = is_next if later == "false" else f"{is_next} OR ({a} IS NOT DISTINCT FROM {b} AND ({later}))"
        return later

    def is_there(self, new: str, there: str) -> str:
        """A condition: a row that is there makes a new row superfluous. Raises UPSERT_OTHER_STREAM if both are
        preliminary and the new one has an earlier micro-batch: no replay gives such a row."""
        same, is_newer = is_same(self.key, new, there), f"coalesce({self.is_later(new, there)}, false)"
        if self.status is None:
            return f"{same} AND NOT {is_newer}"
        error = MatchError(
            "UPSERT_OTHER_STREAM",
            "the target has early results of a later micro-batch than this one, so another stream wrote them",
            hint="a new checkpoint needs a new target",
        )
        both_early = " AND ".join(f"{alias}.{quote(self.status)} <> '{FINAL}'" for alias in (new, there))
        is_older = f"{_BATCH.format(f'{new}.')} < {_BATCH.format(f'{there}.')}"
        return f"{same} AND CASE WHEN {both_early} AND {is_older} THEN {_raised(error)} ELSE NOT {is_newer} END"

    def _values(self, qualifier: str) -> list[str]:
        if self.status is not None:
            is_final = f"({qualifier}{quote(self.status)} = '{FINAL}')"
            return [is_final, f"CASE WHEN NOT {is_final} THEN {_BATCH.format(qualifier)} END"]
        return [f"{qualifier}{quote(name)}" for name in self.latest_by]


def is_same(columns: Sequence[str], one: str, other: str) -> str:
    """A condition: the rows of the two aliases are equal in these columns."""
    return " AND ".join(f"{one}.{quote(name)} = {other}.{quote(name)}" for name in columns)


def merge_statement(table: str, source: str, columns: Sequence[str], versions: Versions, time: str | None) -> str:
    """MERGE INTO the table: new keys are inserted, later versions replace their row. Running it twice changes nothing.

    >>> print(merge_statement("matches", "batch", ["match_id", "price"], Versions(("match_id",)), None))
    MERGE INTO matches AS target USING batch AS source
    ON target.`match_id` = source.`match_id`
    WHEN NOT MATCHED THEN INSERT (`match_id`, `price`) VALUES (source.`match_id`, source.`price`)
    """
    names = [quote(name) for name in columns]
    # All rows of a key have one time, except withdrawn ones, which have none.
    same = [*versions.key, *([] if time is None or versions.status is not None else [time])]
    lines = [f"MERGE INTO {table} AS target USING {source} AS source", f"ON {is_same(same, 'target', 'source')}"]
    if not versions.is_single:
        values = ", ".join(f"{name} = source.{name}" for name in names)
        is_later = versions.is_later("source", "target")
        if versions.status is not None:  # micro-batches come in their order
            is_later = f"target.{quote(versions.status)} <> '{FINAL}'"
        lines.append(f"WHEN MATCHED AND ({is_later}) THEN UPDATE SET {values}")
    inserted = ", ".join(f"source.{name}" for name in names)
    lines.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({inserted})")
    return "\n".join(lines)


def checked_key(name: str) -> str:
    """An expression: the value of a key column. NULL raises UPSERT_KEY_MISSING."""
    error = MatchError(
        "UPSERT_KEY_MISSING",
        f"a row has NULL in its key column '{name}', so a replay couldn't tell that it was written",
        hint="write rows without a key elsewhere: late rows, errors",
    )
    return f"CASE WHEN {quote(name)} IS NULL THEN {_raised(error)} ELSE {quote(name)} END"


def checked_unique(name: str, keys: Sequence[str]) -> str:
    """An expression: the value of a key column. It raises UPSERT_KEY_NOT_UNIQUE if rows of one key differ."""
    error = MatchError(
        "UPSERT_KEY_NOT_UNIQUE",
        f"two different rows of a micro-batch are equal in the key ({', '.join(keys)}), so one would be lost",
        hint='ALL ROWS PER MATCH: key=("match_id", "ts"); several queries in one target: add a column with their names',
    )
    row, of_key = "to_json(struct(*))", f"OVER (PARTITION BY {', '.join(map(quote, keys))})"
    return f"CASE WHEN min({row}) {of_key} <> max({row}) {of_key} THEN {_raised(error)} ELSE {quote(name)} END"


def checked_status(name: str) -> str:
    """An expression: the status of an early result. Other values raise UPSERT_STATUS."""
    allowed = ", ".join(f"'{status}'" for status in _STATUSES)
    message = f"a row has a status in '{name}' other than {', '.join(_STATUSES)}"
    error = MatchError("UPSERT_STATUS", message, hint="latest_by=COLUMN orders versions by any column")
    return f"CASE WHEN {quote(name)} IN ({allowed}) THEN {quote(name)} ELSE {_raised(error)} END"


def _raised(error: OstinatoError) -> str:
    text = carried(error).replace("\\", "\\\\").replace("'", "\\'")
    return f"raise_error('{text}')"
