"""Records -> the paper's figures 7 and 16 (recall and accuracy by bound) and 1b, drawn from our numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paths.bounds import LATENCY, MEMORY, POLICIES
from benchmarks.records import Record

_CASE = re.compile(r"^(?P<data>.+), (?P<hops>\d) hops, (?P<share>\d+) %, (?P<policy>.+)$")
_TITLES = {LATENCY: "share of the mean latency allowed (%)", MEMORY: "share of the mean memory allowed (%)"}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for figure, label in _TITLES.items():
        points = _points([record for record in records if record.figure == figure])
        hops = sorted({hop for hop, _, _ in points})
        if not hops:
            continue
        picture, panels = pyplot.subplots(
            2, len(hops), figsize=(4.2 * len(hops), 6), layout="constrained", squeeze=False
        )
        for row, metric in enumerate(("recall", "accuracy")):
            for column, hop in enumerate(hops):
                panel = panels[row][column]
                for policy in POLICIES.values():
                    line = sorted(points.get((hop, metric, policy), []))
                    panel.plot([share for share, _ in line], [value for _, value in line], marker="o", label=policy)
                panel.set(title=f"{hop} hops", xlabel=label, ylabel=metric, ylim=(0, 1.05))
                panel.grid(alpha=0.3)
        panels[0][0].legend(fontsize=8)
        path = folder / f"paths-{figure.replace(' ', '-')}.png"
        picture.savefig(path, dpi=130)
        pyplot.close(picture)
        drawn.append(path)
    return drawn


def _points(records: Sequence[Record]) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    """(hops, metric, policy) -> (share, value)"""
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for record in records:
        parts = _CASE.match(record.case)
        if parts is not None:
            key = (parts["hops"], record.metric, parts["policy"])
            found.setdefault(key, []).append((int(parts["share"]), record.value))
    return found
