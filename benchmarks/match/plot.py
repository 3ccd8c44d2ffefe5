"""Records of the kernel and of Spark -> pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.match.kernel import case_of
from benchmarks.queries import QUERIES, Mode
from benchmarks.records import Record

BAR = "#3b6ea5"
MISSED = "#c9773b"
GOAL = "#23878c"


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Rows a second of each query with its goal, one panel for each match mode. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    speeds = {record.case: record for record in records if record.figure == "kernel" and record.goal is not None}
    if not speeds:
        return []
    figure, panels = pyplot.subplots(1, 2, figsize=(12, 4.2), sharey=True, layout="constrained")
    for panel, mode in zip(panels, Mode, strict=True):
        _panel(panel, mode, speeds)
    panels[0].set_ylabel("rows/s, one core")
    figure.suptitle("Kernel alone, a million rows: the twelve queries of the RIP paper (lines: goals)")
    path = folder / "match-kernel.png"
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return [path]


def _panel(panel: Any, mode: Mode, speeds: dict[str, Record]) -> None:
    shown = [query for query in QUERIES if case_of(query, mode) in speeds]
    for place, query in enumerate(shown):
        record = speeds[case_of(query, mode)]
        assert record.goal is not None
        panel.bar(place, record.value, color=BAR if record.met else MISSED, width=0.7)
        panel.hlines(record.goal.bound, place - 0.45, place + 0.45, color=GOAL, linewidth=2)
    panel.set_xticks(range(len(shown)), [query.name for query in shown])
    panel.set_yscale("log")
    panel.set_title("preferred match, skip to next row" if mode is Mode.PREFERRED else "all matches, MAXLENGTH 100")
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.3)
