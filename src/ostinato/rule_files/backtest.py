"""Rules + an archive -> the matches of each rule, the time that it took, and the difference between two versions.

Runs in this process over the whole archive. A key that a rule names and the archive lacks is an error of this rule.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import OstinatoError, held_warnings
from ostinato.expressions.types import Settings
from ostinato.expressions.values.value_order import group_numbers
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.batches import one_array
from ostinato.rows.times import microseconds_of
from ostinato.rule_files.ready_rule import ReadyRule
from ostinato.rule_files.rule_run import found_matches
from ostinato.rule_sets.rule_columns import BEGAN, ENDED, SUPPRESSED
from ostinato.rule_sets.rule_errors import as_error_of_rule
from ostinato.rule_sets.suppression import suppress

ID = "match_id"


@dataclass(frozen=True, slots=True)
class RuleHits:
    """The matches of one rule: `match_id`, the keys, `began`, `ended`, and whether each is `suppressed`."""

    rule: ReadyRule
    matches: pa.Table | None
    """None: the rule failed."""
    seconds: float = 0.0
    """Processor time."""
    error: OstinatoError | None = None

    @property
    def shown(self) -> pa.Table | None:
        """The matches that aren't suppressed."""
        return None if self.matches is None else self.matches.filter(pc.invert(self.matches[SUPPRESSED]))

    def by_day(self) -> dict[date | None, int]:
        """The number of shown matches that began on each day, in the time zone of the folder."""
        return {} if self.shown is None else days_of(self.shown)


def days_of(matches: pa.Table) -> dict[date | None, int]:
    """The number of matches that began on each day, in the order of days. Empty matches have no time: None, the last.

    >>> days_of(pa.table({BEGAN: pa.array([None, 0, None], pa.timestamp("us"))}))
    {datetime.date(1970, 1, 1): 1, None: 2}
    """
    began = matches[BEGAN]
    if pa.types.is_timestamp(began.type) and began.type.tz is not None:
        began = pc.local_timestamp(began)
    days = began.cast(pa.date32(), safe=False).to_pylist()
    return dict(sorted(Counter(days).items(), key=lambda item: day_order(item[0])))


def day_order(day: date | None) -> tuple[bool, date]:
    """Sorts days, and None behind them."""
    return day is None, day or date.min


@dataclass(frozen=True, slots=True)
class HitsDifference:
    """The matches of one rule in two versions of a folder, told apart by their ids."""

    rule: str
    new: pa.Table
    lost: pa.Table
    unchanged: int


def archive_table(data: pa.Table, columns: Sequence[str] | None, settings: Settings) -> pa.Table:
    """The archive with these columns, as far as it has them, in the types that rules are compiled for."""
    wanted = data.column_names if columns is None else [name for name in data.column_names if name in columns]
    return as_table(data.select(wanted), settings)


def backtest(
    rules: Iterable[ReadyRule], archive: pa.Table, clock: Callable[[], float] = time.process_time
) -> list[RuleHits]:
    """Runs compiled rules over an archive of the schema that they were compiled for. One failure stops no other rule.

    Rows without a time are left out: on a stream they would be late.
    """
    return [_hits(rule, archive, clock) for rule in rules]


def _hits(rule: ReadyRule, archive: pa.Table, clock: Callable[[], float]) -> RuleHits:
    began = clock()
    try:
        assert rule.compiled is not None
        (column,) = (name for name in archive.column_names if name.lower() == rule.time[0].lower())
        rows = archive.filter(archive[column].is_valid()) if archive[column].null_count else archive
        with held_warnings():
            matches = found_matches(rule.compiled, rows)
        return RuleHits(rule, _with_suppressed(rule, matches), clock() - began)
    except Exception as error:
        ours = as_error_of_rule(error)
        rule.file.query.in_file(ours)
        return RuleHits(rule, None, clock() - began, ours)


def _with_suppressed(rule: ReadyRule, matches: pa.Table) -> pa.Table:
    hidden = np.zeros(matches.num_rows, np.bool_)
    if rule.suppression is not None:
        names = {name.lower(): name for name in matches.column_names}
        columns = [one_array(matches[names[key.lower()]]) for key in rule.suppression.keys]
        keys = group_numbers(matches.num_rows, columns)
        ended = microseconds_of(one_array(matches[ENDED]))
        quiet_until = np.full(matches.num_rows + 1, NO_TIME)
        hidden = suppress(keys, ended, rule.suppression.duration_us, quiet_until).matches
    return matches.append_column(SUPPRESSED, pa.array(hidden, pa.bool_()))


def differences(before: Iterable[RuleHits], after: Iterable[RuleHits]) -> list[HitsDifference]:
    """The new, lost and unchanged shown matches of each rule. A rule that failed in one of the versions is left out."""
    old = {one.rule.file.id: one for one in before}
    new = {one.rule.file.id: one for one in after}
    result = []
    for id in sorted(old.keys() | new.keys()):
        tables = [side[id].shown if id in side else None for side in (old, new)]
        if any(id in side and table is None for side, table in zip((old, new), tables, strict=True)):
            continue
        was, now = tables
        known = next(table for table in tables if table is not None)
        was, now = (known.slice(0, 0) if table is None else table for table in (was, now))
        kept = pc.is_in(now[ID], value_set=was[ID].combine_chunks())
        still = pc.is_in(was[ID], value_set=now[ID].combine_chunks())
        result.append(
            HitsDifference(id, now.filter(pc.invert(kept)), was.filter(pc.invert(still)), pc.sum(kept).as_py() or 0)
        )
    return result
