"""Keys and versions of rows -> SQL: when two rows are one, which of them is later, and the MERGE statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.errors import MatchError, OstinatoError, carried
from ostinato.expressions.render import quote

STATUSES = ("open", "extended", "final", "withdrawn")
"""The statuses of early results. The last two end a run."""
_RANKS = "CASE {} WHEN 'open' THEN 0 WHEN 'extended' THEN 1 ELSE 2 END"


@dataclass(frozen=True, slots=True)
class Versions:
    """The columns that identify a row, and those by which one version of it is later than another."""

    key: tuple[str, ...]
    status: str | None = None
    latest_by: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are compared."""
        ordered_by = () if self.status is None else (self.status,)
        return (*self.key, *ordered_by, *(name for name in self.latest_by if name not in ordered_by))

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

    def _values(self, qualifier: str) -> list[str]:
        by_status = [] if self.status is None else [_RANKS.format(f"{qualifier}{quote(self.status)}")]
        return [*by_status, *(f"{qualifier}{quote(name)}" for name in self.latest_by)]


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
    on = is_same([*versions.key, *([] if time is None else [time])], "target", "source")
    lines = [f"MERGE INTO {table} AS target USING {source} AS source", f"ON {on}"]
    if not versions.is_single:
        values = ", ".join(f"{name} = source.{name}" for name in names)
        lines.append(f"WHEN MATCHED AND ({versions.is_later('source', 'target')}) THEN UPDATE SET {values}")
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


def checked_status(name: str) -> str:
    """An expression: the status of an early result. Other values raise UPSERT_STATUS."""
    allowed = ", ".join(f"'{status}'" for status in STATUSES)
    message = f"a row has a status in '{name}' other than {', '.join(STATUSES)}"
    error = MatchError("UPSERT_STATUS", message, hint="latest_by=COLUMN orders versions by any column")
    return f"CASE WHEN {quote(name)} IN ({allowed}) THEN {quote(name)} ELSE {_raised(error)} END"


def _raised(error: OstinatoError) -> str:
    text = carried(error).replace("\\", "\\\\").replace("'", "\\'")
    return f"raise_error('{text}')"
