"""One answer of a stream summary as an SVG file.

`python -m benchmarks.pictures.summary_picture docs/images/summary.svg` writes it.

The events are drawn at random from a seed: visitors of a shop who search, browse, fill a cart, pay or leave.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.api.summaries import summary

_KINDS = {"search": 0.16, "browse": 0.14, "cart": 0.12, "pay": 0.08, "leave": 0.50}
_START_US = 1_700_000_000_000_000


def shop_events(count: int = 400, seed: int = 7) -> pa.Table:
    """Columns `at` and `kind`; an event every ten seconds or so."""
    rng = np.random.default_rng(seed)
    at = _START_US + np.cumsum(rng.integers(1, 20, count)) * 1_000_000
    kinds = np.array(list(_KINDS))[rng.choice(len(_KINDS), count, p=list(_KINDS.values()))]
    return pa.table({"at": pa.array(at, pa.timestamp("us")), "kind": pa.array(kinds.tolist())})


def summary_picture() -> str:
    """The SVG text: 60 events kept of 400, with what was lost."""
    shop = summary(
        "search (browse|cart)+ pay",
        type="kind",
        time="at",
        within="5 minutes",
        size=60,
        event_types=ost.EventTypes(declared=tuple(_KINDS)),
    )
    events = shop_events()
    return shop.feed(events).ask().svg(exact=shop.exact(events).count) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(summary_picture(), encoding="utf-8")
