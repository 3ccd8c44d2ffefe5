"""Keeper -> bytes -> Keeper: the keeper's knowledge of a stream, exactly as it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.streams.stored_state import LARGEST, check, check_ranges, check_shapes, reading
from ostinato.workloads.matcher.ledger import TAG_RANGE, Ledger, Orders, new_ledger
from ostinato.workloads.matcher.matcher_state_checks import COUNT, SHARE, check_knowledge, check_like
from ostinato.workloads.matcher.plan_tables import words_for
from ostinato.workloads.shedding.accounts import Accounts, ChunkSoFar, zeroed
from ostinato.workloads.shedding.class_edges import FINEST, Learning
from ostinato.workloads.shedding.keeper import Keeper
from ostinato.workloads.shedding.packed import Value, packed, unpacked

_CHUNK = ("rows", "spent_ns", "calling_ns", "visits", "checks", "births", "step_work")


def _stored_fields(keeper: Keeper) -> dict[str, tuple[object, tuple[str, ...]]]:
    """By name an object of the keeper, and the fields of it that are stored."""
    chosen = ("cut", "kept_share", "full_share", "dropped_at", "looked_at", "regrouped_at", "chosen_at")
    counts = ("rows", "attempts", "created", "evicted", "visits", "checks", "step_work", "pace")
    shares = ("kept_share", "full_share")
    return {
        "keeper": (keeper, (*chosen, "window_rows", "rows_seen", "memory_bytes", "total_ns", "chunk_rows")),
        "sketch": (keeper.sketch, (*counts, *shares, "chain_visits", "cells", "ended", "made")),
        "meter": (keeper.meter, ("bound_ns", "average_ns")),
        "control": (keeper.control, ("over", "measured", "predicted", "target")),
        "tariff": (keeper.tariff, ("squares", "products")),
        "calibration": (keeper.calibration, ("latency_sum", "events")),
    }


def keeper_to_bytes(keeper: Keeper) -> bytes:
    values: dict[str, Value] = {"ages": keeper.ages, "features": np.array(keeper.features, np.int64)}
    for group, (owner, names) in _stored_fields(keeper).items():
        values |= {f"{group}.{name}": getattr(owner, name) for name in names}
    values |= {f"chunk.{name}": getattr(keeper.chunk, name) for name in _CHUNK}
    values |= {f"policy.{name}": value for name, value in keeper.policy.to_values().items()}
    values["samples"] = np.array(keeper.learning.samples, np.int64)
    for node, of_node in enumerate(keeper.learning.edges):
        values |= {f"edges.{node}.{feature}": edges for feature, edges in enumerate(of_node)}
        values[f"ranges.{node}"] = keeper.learning.ranges[node]
    if keeper.orders is not None:
        values |= {f"orders.{name}": array for name, array in keeper.orders._asdict().items()}
    if keeper.accounts is not None:
        values["accounts.rows"] = keeper.accounts.rows
        values |= {f"carried.{name}": array for name, array in keeper.accounts.carried._asdict().items()}
    return packed(values)


def keeper_from_bytes(data: bytes, keeper: Keeper) -> Keeper:
    """Fills a new keeper of the same plan. Raises STATE_FORMAT for bytes that don't fit it."""
    values: dict[str, Any] = unpacked(data)
    with reading(_STATE):
        _check_plan(values, keeper)
        keeper.learning = _learning(values, keeper)
        keeper.start_classes()
        bound_ns = keeper.meter.bound_ns
        _check_values(values, keeper)
        for group, (owner, names) in _stored_fields(keeper).items():
            for name in names:
                setattr(owner, name, values[f"{group}.{name}"])
        # Bounds may have changed since. Bounds that were measured stay.
        keeper.meter.bound_ns = np.where(np.isnan(bound_ns), keeper.meter.bound_ns, bound_ns)
        keeper.chunk = ChunkSoFar(**{name: values[f"chunk.{name}"] for name in _CHUNK})
        keeper.policy.restore({name: values[f"policy.{name}"] for name in keeper.policy.to_values()})
        if "orders.masks" in values:
            keeper.orders = _orders(values, keeper)
        if "accounts.rows" in values:
            keeper.accounts = _accounts(values, keeper)
    return keeper


# --- checks -----------------------------------------------------------------------------------------------------------

_STATE = "what was learnt for the bounds, in the state of this workload,"
_POSITIVE = (1e-9, float(LARGEST))
_LIMITS = {
    **{f"sketch.{name}": COUNT for name in ("rows", "attempts", "created", "evicted", "visits", "checks", "pace")},
    **{f"sketch.{name}": COUNT for name in ("step_work", "chain_visits", "cells", "ended", "made")},
    **{f"{owner}.{name}": SHARE for owner in ("sketch", "keeper") for name in ("kept_share", "full_share")},
    **{f"keeper.{name}": COUNT for name in ("looked_at", "regrouped_at", "chosen_at", "rows_seen", "total_ns")},
    **{f"chunk.{name}": COUNT for name in _CHUNK},
    "keeper.window_rows": _POSITIVE,
    "keeper.chunk_rows": (1, LARGEST),
    "keeper.memory_bytes": COUNT,
    "calibration.events": COUNT,
    "accounts.rows": COUNT,
}
"""Smallest and largest number of each field. Other fields may have any value, NaN included."""


def _check_plan(values: dict[str, Any], keeper: Keeper) -> None:
    check_like(_STATE, "features", values["features"], np.array(keeper.features, np.int64))
    check(tuple(values["features"].tolist()) == keeper.features, _STATE, "it is of other conditions")
    check(values["ages"] == keeper.ages, _STATE, "it tells other ages apart")


def _learning(values: dict[str, Any], keeper: Keeper) -> Learning:
    """The edges of classes, checked for their number and order."""
    check_like(_STATE, "samples", values["samples"], np.array(keeper.learning.samples, np.int64))
    check_knowledge(_STATE, values, {"samples": COUNT})
    edges = []
    for node, count in enumerate(keeper.features):
        check_like(_STATE, "ranges", values[f"ranges.{node}"], keeper.learning.ranges[node])
        of_node = tuple(values[f"edges.{node}.{feature}"] for feature in range(count))
        for of_feature in of_node:
            check_shapes(_STATE, {"edges": (of_feature, (len(of_feature),), np.float64)})
            check(len(of_feature) < FINEST[count], _STATE, "it tells more classes apart than are learnt")
            check((of_feature[1:] > of_feature[:-1]).all(), _STATE, "the edges of classes fall")
        edges.append(of_node)
    ranges = tuple(values[f"ranges.{node}"] for node in range(len(keeper.features)))
    return Learning(tuple(edges), tuple(values["samples"].tolist()), ranges)


def _check_values(values: dict[str, Any], keeper: Keeper) -> None:
    for group, (owner, names) in _stored_fields(keeper).items():
        for name in names:
            check_like(_STATE, name, values[f"{group}.{name}"], getattr(owner, name))
    for name in _CHUNK:
        check_like(_STATE, name, values[f"chunk.{name}"], getattr(keeper.chunk, name))
    check_knowledge(_STATE, values, _LIMITS)


def _orders(values: dict[str, Any], keeper: Keeper) -> Orders:
    slots = keeper.kept_share.size
    masks, threshold = values["orders.masks"], values["orders.threshold"]
    words = words_for(keeper.shape.patterns)
    check_shapes(
        _STATE, {"masks": (masks, (2, slots, words), np.uint64), "threshold": (threshold, (slots,), np.uint64)}
    )
    check_ranges(_STATE, {"threshold": (threshold, 0, TAG_RANGE)})
    return Orders(masks, threshold)


def _accounts(values: dict[str, Any], keeper: Keeper) -> Accounts:
    new = new_ledger(keeper.buckets, keeper.ages, keeper.shape.patterns, len(keeper.shape.step_source))
    for name, template in new._asdict().items():
        check_like(_STATE, name, values[f"carried.{name}"], template)
    ledger = Ledger(**{name: values[f"carried.{name}"] for name in Ledger._fields})
    check_ranges(_STATE, {name: (array, 0, LARGEST) for name, array in ledger._asdict().items()})
    check_like(_STATE, "rows", values["accounts.rows"], 0)
    return Accounts(ledger, zeroed(ledger), values["accounts.rows"])
