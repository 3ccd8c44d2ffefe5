"""Keeper -> bytes -> Keeper: what was learnt of a stream, exactly as it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.sharing.bounds import Bounds
from ostinato.techniques.bounded_latency.accounts import Accounts, ChunkSoFar, zeroed
from ostinato.techniques.bounded_latency.class_edges import Learning
from ostinato.techniques.bounded_latency.keeper import Keeper
from ostinato.techniques.bounded_latency.ledger import Ledger, Orders
from ostinato.techniques.bounded_latency.packed import Value, packed, unpacked
from ostinato.techniques.bounded_latency.plan_shape import PlanShape
from ostinato.techniques.bounded_latency.policies import Admission, Policy
from ostinato.techniques.bounded_latency.sketch import Sketch

_CHUNK = ("rows", "spent_ns", "calling_ns", "visits", "checks", "births", "step_work")


def _parts(keeper: Keeper) -> dict[str, tuple[object, tuple[str, ...]]]:
    """By name who is written and read, and which of its fields."""
    chosen = ("cut", "kept", "whole", "share", "dropped_at", "looked_at", "regrouped_at", "chosen_at")
    counts = ("rows", "attempts", "created", "evicted", "visits", "checks", "step_work", "kept", "whole", "pace")
    return {
        "keeper": (keeper, (*chosen, "window_rows", "rows_seen", "memory", "total_ns", "chunk_rows")),
        "sketch": (keeper.sketch, (*counts, "chain_visits", "cells", "ended", "made")),
        "meter": (keeper.meter, ("bound_ns", "average_ns")),
        "control": (keeper.control, ("over", "measured", "predicted", "target")),
        "given_up": (keeper.given_up, ("refused", "dropped", "whole")),
        "tariff": (keeper.tariff, ("squares", "products")),
        "calibration": (keeper.calibration, ("latency_sum", "events")),
        "shed_input": (keeper.shed_input, ("use", "happened", "waiting_ns")),
    }


def keeper_to_bytes(keeper: Keeper) -> bytes:
    values: dict[str, Value] = {"ages": keeper.ages, "features": np.array(keeper.features, np.int64)}
    for part, (owner, names) in _parts(keeper).items():
        values |= {f"{part}.{name}": getattr(owner, name) for name in names}
    values |= {f"chunk.{name}": getattr(keeper.chunk, name) for name in _CHUNK}
    values |= {f"admission.{name}": getattr(keeper.shed_input.admission, name) for name in ("least", "part")}
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


def keeper_from_bytes(data: bytes, shape: PlanShape, bounds: Bounds, policy: Policy) -> Keeper:
    """Raises STATE_FORMAT for bytes that another version wrote."""
    values: dict[str, Any] = unpacked(data)
    features = tuple(values["features"].tolist())
    keeper = Keeper(shape, bounds, policy, features, values["ages"])
    edges = tuple(
        tuple(values[f"edges.{node}.{feature}"] for feature in range(count)) for node, count in enumerate(features)
    )
    ranges = tuple(values[f"ranges.{node}"] for node in range(len(features)))
    keeper.learning = Learning(edges, tuple(values["samples"].tolist()), ranges)
    keeper.sketch = Sketch(shape, keeper.buckets.class_at, keeper.ages)
    given_ns = keeper.meter.bound_ns
    for part, (owner, names) in _parts(keeper).items():
        for name in names:
            setattr(owner, name, values[f"{part}.{name}"])
    # A bound may be another one than before; one that was measured stays.
    keeper.meter.bound_ns = np.where(np.isnan(given_ns), keeper.meter.bound_ns, given_ns)
    keeper.chunk = ChunkSoFar(**{name: values[f"chunk.{name}"] for name in _CHUNK})
    keeper.shed_input.admission = Admission(values["admission.least"], values["admission.part"])
    if "orders.masks" in values:
        keeper.orders = Orders(values["orders.masks"], values["orders.threshold"])
    if "accounts.rows" in values:
        carried = Ledger(*(values[f"carried.{name}"] for name in Ledger._fields))
        keeper.accounts = Accounts(carried, zeroed(carried), values["accounts.rows"])
    return keeper
