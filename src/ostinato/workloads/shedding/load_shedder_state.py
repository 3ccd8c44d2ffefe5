"""LoadShedder -> bytes -> LoadShedder: the shedder's statistics of a stream, exactly as they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.streams.stored_state import LARGEST, check, check_ranges, check_shapes, reading
from ostinato.workloads.matcher.ledger import TAG_RANGE, KeepMasks, Ledger, new_ledger
from ostinato.workloads.matcher.matcher_state_checks import COUNT, SHARE, check_like, check_limits
from ostinato.workloads.matcher.plan_tables import words_for
from ostinato.workloads.shedding.class_edges import BUCKETS_PER_FEATURE, LearntEdges
from ostinato.workloads.shedding.ledger_growth import ChunkCounts, LedgerGrowth, zeroed
from ostinato.workloads.shedding.load_shedder import LoadShedder
from ostinato.workloads.shedding.packed import STATISTICS as _STATE
from ostinato.workloads.shedding.packed import Value, pack_values, unpack_values

_CHUNK = ("rows", "spent_ns", "calling_ns", "visits", "checks", "births", "step_work")


def _stored_fields(shedder: LoadShedder) -> dict[str, tuple[object, tuple[str, ...]]]:
    """By name an object of the shedder, and the fields of it that are stored. Renaming one changes the state format.

    Some stored names are older than those in the code: `keeper` is the shedder, `orders` are its keep masks, `accounts`
    its growth.
    """
    chosen = ("cut", "kept_share", "full_share", "dropped_at", "looked_at", "regrouped_at", "chosen_at")
    counts = ("rows", "attempts", "created", "evicted", "visits", "checks", "step_work", "pace")
    shares = ("kept_share", "full_share")
    return {
        "keeper": (shedder, (*chosen, "window_rows", "rows_seen", "memory_bytes", "total_ns", "chunk_rows")),
        "sketch": (shedder.sketch, (*counts, *shares, "chain_visits", "cells", "ended", "made")),
        "meter": (shedder.meter, ("bound_ns", "average_ns")),
        "control": (shedder.control, ("over", "measured", "predicted", "target")),
        "tariff": (shedder.tariff, ("squares", "products")),
        "calibration": (shedder.calibration, ("latency_sum", "events")),
    }


def shedder_to_bytes(shedder: LoadShedder) -> bytes:
    values: dict[str, Value] = {"ages": shedder.ages, "features": np.array(shedder.features, np.int64)}
    for group, (owner, names) in _stored_fields(shedder).items():
        values |= {f"{group}.{name}": getattr(owner, name) for name in names}
    values |= {f"chunk.{name}": getattr(shedder.chunk, name) for name in _CHUNK}
    values |= {f"policy.{name}": value for name, value in shedder.policy.to_values().items()}
    values["samples"] = np.array(shedder.learnt_edges.samples, np.int64)
    for node, of_node in enumerate(shedder.learnt_edges.edges):
        values |= {f"edges.{node}.{feature}": edges for feature, edges in enumerate(of_node)}
        values[f"ranges.{node}"] = shedder.learnt_edges.ranges[node]
    if shedder.keep_masks is not None:
        values |= {f"orders.{name}": array for name, array in shedder.keep_masks._asdict().items()}
    if shedder.growth is not None:
        values["accounts.rows"] = shedder.growth.rows
        values |= {f"carried.{name}": array for name, array in shedder.growth.carried._asdict().items()}
    return pack_values(values)


def shedder_from_bytes(data: bytes, shedder: LoadShedder) -> LoadShedder:
    """Fills a new shedder of the same plan. Raises STATE_FORMAT for bytes that don't fit it."""
    values: dict[str, Any] = unpack_values(data)
    with reading(_STATE):
        _check_plan(values, shedder)
        shedder.learnt_edges = _learnt_edges(values, shedder)
        shedder.start_classes()
        bound_ns = shedder.meter.bound_ns
        _check_values(values, shedder)
        for group, (owner, names) in _stored_fields(shedder).items():
            for name in names:
                setattr(owner, name, values[f"{group}.{name}"])
        # Bounds may have changed since. Calibrated bounds stay.
        shedder.meter.bound_ns = np.where(np.isnan(bound_ns), shedder.meter.bound_ns, bound_ns)
        shedder.chunk = ChunkCounts(**{name: values[f"chunk.{name}"] for name in _CHUNK})
        shedder.policy.restore({name: values[f"policy.{name}"] for name in shedder.policy.to_values()})
        if "orders.masks" in values:
            shedder.keep_masks = _keep_masks(values, shedder)
        if "accounts.rows" in values:
            shedder.growth = _growth(values, shedder)
    return shedder


# --- checks -----------------------------------------------------------------------------------------------------------

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


def _check_plan(values: dict[str, Any], shedder: LoadShedder) -> None:
    check_like(_STATE, "features", values["features"], np.array(shedder.features, np.int64))
    check(tuple(values["features"].tolist()) == shedder.features, _STATE, "it is of other conditions")
    check(values["ages"] == shedder.ages, _STATE, "it has another number of ages")


def _learnt_edges(values: dict[str, Any], shedder: LoadShedder) -> LearntEdges:
    """The edges of classes, checked for their number and order."""
    check_like(_STATE, "samples", values["samples"], np.array(shedder.learnt_edges.samples, np.int64))
    check_limits(_STATE, values, {"samples": COUNT})
    edges = []
    for node, count in enumerate(shedder.features):
        check_like(_STATE, "ranges", values[f"ranges.{node}"], shedder.learnt_edges.ranges[node])
        of_node = tuple(values[f"edges.{node}.{feature}"] for feature in range(count))
        for of_feature in of_node:
            check_shapes(_STATE, {"edges": (of_feature, (len(of_feature),), np.float64)})
            check(len(of_feature) < BUCKETS_PER_FEATURE[count], _STATE, "it has more classes than are learnt")
            check((of_feature[1:] > of_feature[:-1]).all(), _STATE, "the edges of classes fall")
        edges.append(of_node)
    ranges = tuple(values[f"ranges.{node}"] for node in range(len(shedder.features)))
    return LearntEdges(tuple(edges), tuple(values["samples"].tolist()), ranges)


def _check_values(values: dict[str, Any], shedder: LoadShedder) -> None:
    for group, (owner, names) in _stored_fields(shedder).items():
        for name in names:
            check_like(_STATE, name, values[f"{group}.{name}"], getattr(owner, name))
    for name in _CHUNK:
        check_like(_STATE, name, values[f"chunk.{name}"], getattr(shedder.chunk, name))
    check_limits(_STATE, values, _LIMITS)


def _keep_masks(values: dict[str, Any], shedder: LoadShedder) -> KeepMasks:
    slots = shedder.kept_share.size
    masks, threshold = values["orders.masks"], values["orders.threshold"]
    words = words_for(shedder.shape.patterns)
    check_shapes(
        _STATE, {"masks": (masks, (2, slots, words), np.uint64), "threshold": (threshold, (slots,), np.uint64)}
    )
    check_ranges(_STATE, {"threshold": (threshold, 0, TAG_RANGE)})
    return KeepMasks(masks, threshold)


def _growth(values: dict[str, Any], shedder: LoadShedder) -> LedgerGrowth:
    new = new_ledger(shedder.buckets, shedder.ages, shedder.shape.patterns, len(shedder.shape.step_source))
    for name, template in new._asdict().items():
        check_like(_STATE, name, values[f"carried.{name}"], template)
    ledger = Ledger(**{name: values[f"carried.{name}"] for name in Ledger._fields})
    check_ranges(_STATE, {name: (array, 0, LARGEST) for name, array in ledger._asdict().items()})
    check_like(_STATE, "rows", values["accounts.rows"], 0)
    return LedgerGrowth(ledger, zeroed(ledger), values["accounts.rows"])
