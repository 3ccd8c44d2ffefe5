"""Checks of partial matches and shedding statistics that were read back: kernels must be able to trust them.

Partial matches: links lead to older partial matches, rows and nodes exist, lengths add up along the links. Statistics:
every array has the shape that the plan gives it, every number lies in the range of its field.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import LARGEST, Range, check, check_ascending, check_ranges, check_shapes
from ostinato.workloads.matcher.births import SAMPLES
from ostinato.workloads.matcher.ledger import TAG_RANGE, Buckets
from ostinato.workloads.matcher.matcher_state import PARTIAL_MATCHES as _MATCHES
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.plan_events import RowPositions
from ostinato.workloads.matcher.plan_tables import PlanTables
from ostinato.workloads.matcher.store import KEPT_FOR_CHILDREN, LISTED, NOTHING, StoreShape
from ostinato.workloads.merging.features import MAX_FEATURES

Ints = NDArray[np.int64]
_ANCESTRY_COLUMNS, _COUNTERS = 8, 4


def check_matches(
    state: MatcherState, plan: PlanTables, shape: StoreShape, buckets: Buckets, positions: RowPositions, history: int
) -> None:
    """Raises STATE_FORMAT. `history`: number of rows that were given again, the first ones of the call."""
    _check_matcher_shapes(state, shape, buckets)
    rows = len(state.rows_needed)
    check(rows == history, _MATCHES, "they need other rows than there are")
    # Ages and limits are counted from the first row of a partial match, and rows come in order of time.
    check_ascending(_MATCHES, rows_needed=state.rows_needed, time=positions.time[: history + 1])
    parent, segment, node, first, status, row, length, tag = state.ancestry.T
    own = np.arange(len(parent))
    check_ranges(
        _MATCHES,
        {
            "parent": (parent, NOTHING, own - 1),
            "segment": (segment, NOTHING, own - 1),
            "node": (node, 0, plan.node_count - 1),
            "first row": (first, 0, rows - 1),
            "status": (status, LISTED, KEPT_FOR_CHILDREN),
            "row": (row, 0, rows - 1),
            "length": (length, 1, LARGEST),
            "tag": (tag, 0, TAG_RANGE - 1),
            "registers": (state.registers, NOTHING, rows - 1),
            "nulls": (state.nulls, 0, (1 << MAX_FEATURES) - 1),
            "samples": (state.sample_counts, 0, LARGEST),
            "counters": (state.counters, 0, LARGEST),
            "rows needed": (state.rows_needed, 0, LARGEST),
        },
    )
    _check_links(parent, segment, first, row, length, positions.sequence)
    for position in (positions.time, positions.place):
        check((position[first] <= position[row]).all(), _MATCHES, "they end before they start")
    check((state.masks & ~plan.nodes.patterns[node] == 0).all(), _MATCHES, "they are for patterns that don't have them")


def _check_matcher_shapes(state: MatcherState, shape: StoreShape, buckets: Buckets) -> None:
    count = len(state.ancestry) if state.ancestry.ndim == 2 else -1
    features, nodes = int(buckets.feature_at[-1]), len(buckets.feature_at) - 1
    check_shapes(
        _MATCHES,
        {
            "ancestry": (state.ancestry, (count, _ANCESTRY_COLUMNS), np.int64),
            "masks": (state.masks, (count, shape.words), np.int64),
            "features": (state.features, (count, MAX_FEATURES), np.float64),
            "nulls": (state.nulls, (count,), np.uint8),
            "registers": (state.registers, (count, shape.registers), np.int64),
            "integer totals": (state.int_totals, (count, shape.totals), np.int64),
            "real totals": (state.real_totals, (count, shape.totals), np.float64),
            "sampled": (state.sampled, (features, SAMPLES), np.float64),
            "sample counts": (state.sample_counts, (nodes,), np.int64),
            "counters": (state.counters, (_COUNTERS,), np.int64),
            "rows needed": (state.rows_needed, (len(state.rows_needed),), np.int64),
        },
    )


def _check_links(parent: Ints, segment: Ints, first: Ints, row: Ints, length: Ints, sequence: Ints) -> None:
    """A partial match goes on where its parent ended: with the same first row, in the same sequence, and longer."""
    from_parent, from_segment = parent >= 0, segment >= 0
    grown = np.where(from_parent, length[parent], 0) + np.where(from_segment, length[segment], 1)
    check((length == grown).all(), _MATCHES, "their lengths don't add up")
    check((first == first[parent])[from_parent].all(), _MATCHES, "they start elsewhere than what they grew out of")
    check((first == row)[~from_parent & ~from_segment].all(), _MATCHES, "one of a single row starts with another row")
    for linked, has in ((parent, from_parent), (segment, from_segment)):
        same = sequence[row] == sequence[row[linked]]
        check(same[has].all(), _MATCHES, "they go over into another sequence")


# --- shedding statistics ----------------------------------------------------------------------------------------------


def check_like(state_name: str, name: str, value: Any, template: Any) -> None:
    """Raises STATE_FORMAT for a value of another type or shape than the template."""
    if isinstance(template, np.ndarray):
        check(isinstance(value, np.ndarray), state_name, f"{name} is no array")
        check_shapes(state_name, {name: (value, template.shape, template.dtype.type)})
    elif isinstance(template, bool) or not isinstance(template, int | float):
        check(type(value) is type(template), state_name, f"{name} has another type")
    else:
        kinds = (int,) if isinstance(template, int) else (int, float)
        check(isinstance(value, kinds) and not isinstance(value, bool), state_name, f"{name} has another type")


COUNT: tuple[float, float] = (0, LARGEST)
SHARE: tuple[float, float] = (0.0, 1.0)


def check_limits(state_name: str, values: dict[str, Any], limits: dict[str, tuple[float, float]]) -> None:
    """Raises STATE_FORMAT for numbers outside of the limits of their fields. `limits` may name absent fields."""
    ranges: dict[str, Range] = {name: (values[name], *limits[name]) for name in limits if name in values}
    check_ranges(state_name, ranges)
