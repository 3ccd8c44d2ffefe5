"""State of a bucket of rules -> the keys that each rule keeps there, counted by the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.key_layout import key_numbers
from ostinato.clause.stream.state_counts import OPEN, WAITING
from ostinato.errors import OstinatoError
from ostinato.rule_sets.bucket_layout import Attempts, RuleBucket
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.streams.bucket_state import BucketState, Rows, read_header, read_rows
from ostinato.streams.stored_state import Section, reading

if TYPE_CHECKING:
    from ostinato.rule_sets.rules_core import RulesCore

SUPPRESSED = "suppress"
"""The reason to keep a key whose matches a rule suppresses for some time. The others are those of clauses."""

KEPT_KEYS = pa.schema(
    [
        pa.field("rule", pa.string()),
        pa.field("version", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("keys", pa.int64()),
        pa.field("rows", pa.int64()),
    ]
)
"""A key counts once for each rule that keeps it. Rows that several rules keep count for each. Rows that wait for the
watermark belong to no rule."""


class _Kept(NamedTuple):
    reason: str
    keys: int
    rows: int


def kept_keys(core: RulesCore, state: BucketState, rules: bytes) -> pa.Table:
    """The keys of one bucket, by rule and reason."""
    header, _ = read_header(state, core.fingerprint)
    bucket, known = core.opened(header, state, lambda: rules)
    found = []
    for number, name in enumerate(bucket.rules):
        record = known.records[name]
        if not record.is_active:  # the next step frees its rows
            continue
        try:
            search = core.search_of(record.change)
        except OstinatoError:  # the next step suspends it
            continue
        of_rule = {"rule": name, "version": record.change.version}
        found += [
            of_rule | kept._asdict() for kept in _of_rule(search, bucket.keys.rows, bucket.attempts.of_rule(number))
        ]
    waiting = read_rows(state.waiting, Section.WAITING_ROWS)
    if waiting is not None:
        found.append({"reason": WAITING, "keys": _only_waiting(core, bucket, waiting), "rows": waiting.num_rows})
    return pa.Table.from_pylist(found, schema=KEPT_KEYS)


def keys_kept_for_past(search: RuleSearch, stored: Rows, attempts: Attempts) -> int:
    """The number of keys without an open partial match that a rule keeps because it reads their past."""
    needs, is_visible = search.needs, attempts.hidden < stored[attempts.key]
    if needs.before:
        return len(stored) - int(((attempts.open > 0) | ~is_visible).sum())
    return int(((attempts.number > 0) & (attempts.open == 0) & is_visible).sum()) if needs.numbers else 0


def _of_rule(search: RuleSearch, stored: Rows, attempts: Attempts) -> Iterator[_Kept]:
    rows = search.kept_rows(stored, attempts)
    nothing = np.zeros_like(attempts.open)
    is_open, past = np.zeros(len(stored), np.bool_), attempts._replace(open=nothing, quiet=nothing)
    is_open[attempts.key] = attempts.open > 0
    for_past = ~is_open & (search.kept_rows(stored, past) > 0)
    is_quiet = ~is_open & ~for_past & (rows > 0)
    reasons = {OPEN: is_open, search.needs.kept_for.value: for_past, SUPPRESSED: is_quiet}
    return (_Kept(reason, int(keys.sum()), int(rows[keys].sum())) for reason, keys in reasons.items() if keys.any())


def _only_waiting(core: RulesCore, bucket: RuleBucket, waiting: pa.RecordBatch) -> int:
    """The number of keys all of whose rows wait for the watermark."""
    keys = bucket.keys
    with reading("the rows in the state of this stream"):
        numbers = np.unique(key_numbers(keys.values if keys.count else None, waiting, core.declared.keys))
    return int((numbers >= keys.count).sum())
