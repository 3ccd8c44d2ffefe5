"""Keys and order of the rules of a stream: given on the command line, or read from the columns of sink and input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.errors import QueryError, did_you_mean
from ostinato.rule_sets.declaration import Declaration


@dataclass(frozen=True, slots=True)
class RuleTerms:
    """`keys=` and `time=` of `ost.rules`; None where the console finds them itself."""

    keys: tuple[str, ...] | None = None
    time: tuple[str, ...] = ()

    def declaration(self, table: pa.Table, seen_keys: Sequence[str] | None) -> Declaration:
        """The declaration of rules over the table, with the limits of `ost.rules`. `seen_keys` are the key columns of
        the sink's rows; None while no row tells them.

        Raises CONSOLE_NEEDS_COLUMNS if it isn't clear which columns divide the rows, and which one orders them.

        >>> table = pa.table({"user": ["ann"], "ts": pa.array([0], pa.timestamp("us"))})
        >>> declared = RuleTerms().declaration(table, ["user"])
        >>> declared.keys, declared.time
        (('user',), ('ts',))
        """
        keys = _seen_in(table, seen_keys) if self.keys is None else self.keys
        time = self.time or _only_time(table)
        for name in (*keys, *time):
            if name not in table.column_names:
                hint = did_you_mean(name, table.column_names)
                raise QueryError("UNKNOWN_COLUMN", f"the input has no column '{name}'", hint=hint)
        return Declaration(keys, time, table.schema, kinds=("clause", "funnel"))


def _seen_in(table: pa.Table, seen_keys: Sequence[str] | None) -> tuple[str, ...]:
    keys = tuple(name for name in seen_keys or () if name in table.column_names)
    if seen_keys is None or (seen_keys and not keys):
        lack = "no match of a rule yet" if seen_keys is None else f"keys that the input lacks: {', '.join(seen_keys)}"
        hint = "--keys names the columns that divide the rows; --keys '' says that none does"
        raise QueryError("CONSOLE_NEEDS_COLUMNS", f"the sink shows the keys of rules, and it has {lack}", hint=hint)
    return keys


def _only_time(table: pa.Table) -> tuple[str, ...]:
    times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if len(times) == 1:
        return (times[0],)
    found = "none" if not times else f"{len(times)}: {', '.join(times)}"
    raise QueryError(
        "CONSOLE_NEEDS_COLUMNS",
        f"rules are tested in the order of one column of times, and the input has {found}",
        hint="--time names it, and --keys the columns that divide the rows",
    )
