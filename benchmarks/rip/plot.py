"""Records -> the paper's figures 8 to 15, drawn from our numbers, and the schedule of many workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import Record, this_machine
from benchmarks.rip.library import LIBRARY
from benchmarks.rip.schedule import STRATEGIES, WORKERS, case_of

COLOURS = {"SEQ": "#8a8a8a", "RB": "#c9773b", "RB+": "#3b6ea5", "SB": "#7a9a4a", "SB+": "#a05195", LIBRARY: "#23878c"}
_UNITS = re.compile(r", (\d+) units?(?:,|$)")
_SETTING = re.compile(r"([\d,]+)$")
_SIZE = (6.4, 4.2)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for figure, (title, fill) in _PICTURES.items():
        shown = [record for record in records if record.figure == figure and record.unit in ("rows/s", "x")]
        if not shown:
            continue
        picture, panel = pyplot.subplots(figsize=_SIZE, layout="constrained")
        fill(panel, shown)
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
        path = folder / f"rip-{figure.replace(' ', '-')}.png"
        picture.savefig(path, dpi=130)
        pyplot.close(picture)
        drawn.append(path)
    return drawn


def _parts(record: Record) -> tuple[str, str, int] | None:
    """Query, variant and units of a measured speed; None for other records."""
    units = _UNITS.search(record.case)
    if units is None:
        return None
    query, variant = record.case.split(", ")[:2]
    return query, variant, int(units.group(1))


def _by_units(panel: Any, records: Sequence[Record]) -> None:
    """A line for each variant; SEQ, which has no units to vary, as a level."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        parts = _parts(record)
        if parts is not None:
            lines.setdefault(parts[1], []).append((parts[2], record.value))
    for variant, points in lines.items():
        colour = COLOURS.get(variant)
        if variant == "SEQ":
            panel.axhline(points[0][1], color=colour, linestyle="--", label="SEQ")
        else:
            label = f"{LIBRARY}, table to table" if variant == LIBRARY else variant
            panel.plot(*zip(*sorted(points), strict=True), marker="o", color=colour, label=label)
    _units_axis(panel, "rows/s")


def _speed_up_by_units(panel: Any, records: Sequence[Record]) -> None:
    """A line for each query, RB+ over SEQ; the library over itself on one unit, in the same colour."""
    lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for record in records:
        parts = _parts(record)
        if parts is not None and record.ratio is not None:
            lines.setdefault(parts[:2], []).append((parts[2], record.ratio))
    colours = {query: f"C{place}" for place, query in enumerate(dict.fromkeys(query for query, _ in lines))}
    for (query, variant), points in lines.items():
        is_library = variant == LIBRARY
        label = f"{query}, {LIBRARY}" if is_library else query
        marker = "x" if is_library else "o"
        panel.plot(*zip(*sorted(points), strict=True), marker=marker, color=colours[query], label=label)
    _units_axis(panel, "speed-up over SEQ (library: over its own)")


def _units_axis(panel: Any, measured: str) -> None:
    cores = this_machine().cores
    panel.axvspan(cores + 0.05, panel.get_xlim()[1], color="#808080", alpha=0.12, label=f"more than {cores} cores")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_xlabel("processing units (threads)")
    panel.set_ylabel(measured)
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=8)


def _by_setting(panel: Any, records: Sequence[Record]) -> None:
    """Speed by what a sweep varies: the number at the end of the case."""
    points = []
    for record in records:
        setting = _SETTING.search(record.case)
        if setting is not None and _parts(record) is not None:
            points.append((int(setting.group(1).replace(",", "")), record.value))
    panel.plot(*zip(*sorted(points), strict=True), marker="o", color=COLOURS["RB+"])
    panel.set_xscale("log")
    panel.set_xlabel("rows")
    panel.set_ylabel("rows/s")
    panel.set_ylim(bottom=0)


def _bars(panel: Any, records: Sequence[Record]) -> None:
    """Speed of each variant."""
    shown = [(parts, record) for record in records if (parts := _parts(record)) is not None]
    for place, ((_, variant, _), record) in enumerate(shown):
        panel.bar(place, record.value, color=COLOURS.get(variant), width=0.7)
    names = [f"{variant}\n{units} unit{'' if units == 1 else 's'}" for (_, variant, units), _ in shown]
    panel.set_xticks(range(len(shown)), names, fontsize=8)
    panel.set_xlabel(f"{LIBRARY}: ost.match, from table to table")
    panel.set_ylabel("rows/s")


def _speed_up_bars(panel: Any, records: Sequence[Record]) -> None:
    """Speed-up of the pipeline by query, with the number of its states."""
    shown = [(parts, record.ratio) for record in records if (parts := _parts(record)) is not None and record.ratio]
    for place, (_, ratio) in enumerate(shown):
        panel.bar(place, ratio, color=COLOURS["SB"], width=0.7)
    names = [f"{query}\n({units})" for (query, _, units), _ in shown]
    panel.set_xticks(range(len(shown)), names, fontsize=8)
    panel.axhline(1.0, color=COLOURS["SEQ"], linestyle="--")
    panel.set_xlabel("query (states, each a thread)")
    panel.set_ylabel("speed-up over SEQ")


def _schedule(panel: Any, records: Sequence[Record]) -> None:
    by_case = {record.case: record.value for record in records}
    panel.plot(WORKERS, WORKERS, color=COLOURS["SEQ"], linestyle="--", label="ideal")
    for kind in ("even", "skewed"):
        for strategy in STRATEGIES:
            values = [by_case[case_of(kind, strategy, workers)] for workers in WORKERS]
            panel.plot(WORKERS, values, marker="o", label=f"{kind} slices, {strategy}")
    for axis in (panel.set_xscale, panel.set_yscale):
        axis("log", base=2)
    panel.set_xlabel("workers (simulated)")
    panel.set_ylabel("speed-up")
    panel.legend(fontsize=8)


_PICTURES: dict[str, tuple[str, Callable[[Any, Sequence[Record]], None]]] = {
    "figure 8": ("Figure 8: run-based variants, Q8", _by_units),
    "figure 9": ("Figure 9: speed-up of RB+ by query", _speed_up_by_units),
    "figure 10": ("Figure 10: size of the shared part, RB+ on 2 units, Q1", _by_setting),
    "slice size": ("Size of slices, RB+ on 2 units, Q1", _by_setting),
    "figure 11": ("Figure 11: the state pipeline by query", _speed_up_bars),
    "figure 12": ("Figure 12: size of transfer batches, SB, Q7", _by_setting),
    "figure 13": ("Figure 13: a balanced query", _bars),
    "figure 14": ("Figure 14: head and shoulders (Q1)", _bars),
    "figure 15": ("Figure 15: real quotes, Q1", _by_units),
    "schedule": ("Schedule of measured slices, Q1", _schedule),
}
