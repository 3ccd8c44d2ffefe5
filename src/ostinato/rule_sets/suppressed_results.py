"""Output rows of one step of a rule with a suppression -> the same rows, each marked if its match is suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.expressions.values.value_order import group_numbers
from ostinato.funnels.funnel import COMPLETED
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import OutputRows
from ostinato.rows.column_names import MATCHED, PREFIX
from ostinato.rows.times import microseconds_of
from ostinato.rule_sets import compiled_rule
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.suppression import suppress
from ostinato.streams.bucket_state import Rows

IS_SUPPRESSED = f"{PREFIX}suppressed"


class MarkedResults(NamedTuple):
    """Output rows with the column IS_SUPPRESSED, and for each key the time until which it is quiet."""

    results: OutputRows
    quiet_until: Rows


def mark_suppressed(
    rule: CompiledRule, results: OutputRows, rows: KeyRows, keys: Sequence[str], quiet_until: Rows
) -> MarkedResults:
    """The rows of one match are suppressed together. Rows that belong to no match never are. Nor are attempts of a
    funnel that don't take all steps, and they start no quiet time."""
    assert rule.suppression is not None
    is_match = np.asarray(results.arrays[MATCHED]) if MATCHED in results.arrays else np.ones(results.count, np.bool_)
    if rule.is_funnel:
        is_match = is_match & np.asarray(rule.plan.measured(results)[COMPLETED])
    of_match = np.flatnonzero(is_match)
    ids = results.arrays[rule.slot(compiled_rule.MATCH_ID)].take(pa.array(of_match))
    matches = group_numbers(len(of_match), [ids])
    _, first, match = np.unique(matches, return_index=True, return_inverse=True)
    in_order = np.argsort(first)  # `suppress` takes matches in the order of their first output rows
    chosen = of_match[first[in_order]]
    ended = microseconds_of(results.arrays[rule.slot(compiled_rule.ENDED)])[chosen]
    numbers = _key_numbers(results, rows, keys)
    quiet = np.full(int(numbers.of_keys.max(initial=0)) + 1, NO_TIME)
    np.maximum.at(quiet, numbers.of_keys, quiet_until)
    found = suppress(numbers.of_results[chosen], ended, rule.suppression.duration_us, quiet)
    hidden = np.empty(len(first), np.bool_)
    hidden[in_order] = found.matches
    marks = np.zeros(results.count, np.bool_)
    marks[of_match] = hidden[match]
    arrays = {**results.arrays, IS_SUPPRESSED: pa.array(marks)}
    return MarkedResults(OutputRows(results.count, arrays), found.quiet_until[numbers.of_keys])


class _KeyNumbers(NamedTuple):
    """Equal keys have equal numbers. A key is laid out several times if it was silent for long."""

    of_keys: Rows
    of_results: Rows


def _key_numbers(results: OutputRows, rows: KeyRows, keys: Sequence[str]) -> _KeyNumbers:
    first = pa.array(rows.key_at[:-1])
    columns = [pa.concat_arrays([rows.columns[name].take(first), results.arrays[name]]) for name in keys]
    groups = group_numbers(len(first) + results.count, columns)
    return _KeyNumbers(groups[: len(first)], groups[len(first) :])
