"""State of a bucket of rules -> its open partial matches, counted by rule and automaton state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.errors import OstinatoError
from ostinato.rule_sets.bucket_layout import StoredAttempts
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_set import RuleRecord
from ostinato.rule_sets.standings import stored_standing
from ostinato.rule_sets.step_rows import NO_ROWS, lay_out_rows
from ostinato.streams.bucket_state import BucketState, read_header

if TYPE_CHECKING:
    from ostinato.rule_sets.rules_core import RulesCore

OPEN_RULES = pa.schema(
    [
        pa.field("rule", pa.string()),
        pa.field("version", pa.int64()),
        pa.field("status", pa.string()),
        pa.field("state", pa.int32()),
        pa.field("variable", pa.string()),
        pa.field("keys", pa.int64()),
    ]
)
"""`state` is the number of an automaton state that may consume the next row, `variable` its variable. A key may be in
several states. Both are NULL in the row of the rule itself, whose `keys` have an open partial match."""


def open_rules(core: RulesCore, state: BucketState, rules: bytes) -> pa.Table:
    """The rules of one bucket that are in force or suspended."""
    header, _ = read_header(state, core.fingerprint)
    bucket, known = core.opened(header, state, lambda: rules)
    keys = np.arange(bucket.keys.count)
    stored, rows = StoredAttempts(bucket, keys), None
    if len(keys):
        rows = lay_out_rows(bucket, keys, bucket.keys.has_older_rows, NO_ROWS, core.declared)
    found = [
        row
        for _, record in sorted(known.records.items())
        if record.change.enabled or record.change.options.reason
        for row in _of_rule(core, record, stored, rows)
    ]
    return pa.Table.from_pylist(found, schema=OPEN_RULES)


def _of_rule(
    core: RulesCore, record: RuleRecord, stored: StoredAttempts, rows: KeyRows | None
) -> list[dict[str, object]]:
    change = record.change
    status = "active" if record.is_active else "suspended"
    of_rule = {"rule": change.id, "version": change.version, "status": status}
    open_keys = int((stored.of_rule(change.id).open > 0).sum()) if record.is_active else 0
    found: list[dict[str, object]] = [{**of_rule, "state": None, "variable": None, "keys": open_keys}]
    if rows is None or not open_keys:
        return found
    try:
        search = core.search_of(change)
    except OstinatoError:  # the next step suspends it
        return found
    counts = search.states(rows, stored_standing(change.id, stored, rows)).sum(axis=0)
    variables = [state.variable for state in search.rule.plan.plan.nfa.states]
    for number in np.flatnonzero(counts).tolist():
        found.append({**of_rule, "state": number, "variable": variables[number], "keys": int(counts[number])})
    return found
