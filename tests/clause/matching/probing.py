"""Probes over letters: through the kernel, and from the definitions by way of the oracle's preferment order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.matching.growths import PreparedRows, ProbeMatches, ProbeMode, Probes, find, matches_at
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.pattern import variables
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import LocalPlan
from ostinato.reference.preferment import Path, Search, in_preferment_order
from ostinato.rows.arrow_tables import columns_of

DEFINE = {"A": "", "B": "B AS kind <> 'a'", "C": "C AS kind = 'c'", "R": "R AS kind >= FIRST(kind)"}
"""A takes every row, R reads the run: its row is no smaller than the first of the match."""

Match = tuple[int, str]
"""A start, and the labels of the rows from there on."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Starts `start:stop`, rows before `end`; whether rows may follow."""

    start: int
    stop: int
    end: int
    is_open: bool = True


def prepared_letters(pattern: str, text: str, bound: str = "") -> PreparedRows:
    """The pattern over rows of these kinds, in one key; an `n` counts them."""
    defined = ", ".join(DEFINE[name] for name in variables(parse_row_pattern(pattern)) if DEFINE[name])
    clause = f"ORDER BY n MEASURES array_agg(classifier()) AS l PATTERN ({pattern}) {bound}"
    table = pa.table({"n": pa.array(range(len(text)), pa.int64()), "kind": pa.array(list(text), pa.string())})
    worker, window = worker_and_window(f"{clause} DEFINE {defined}" if defined else clause, table)
    return worker.prepared(window)


def worker_and_window(clause: str, table: pa.Table) -> tuple[Worker, Window]:
    """A worker for the clause, and all rows of the table in its order."""
    plan = make_plan(bind(parse_clause(clause), table.column_names, case_sensitive=False))
    ready = LocalPlan(plan, table.schema, Settings(), Limits())
    worker = Worker(ready.typed)
    batch = ready.batch(columns_of(table), table.num_rows)
    return worker, worker.window(batch, worker.order(batch))


def probes_of(probes: Sequence[Probe], rows: int) -> Probes:
    def column(of: Callable[[Probe], int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([of(probe) for probe in probes], np.int64)

    return Probes(
        first=column(lambda probe: 0),
        last_end=column(lambda probe: rows),
        start=column(lambda probe: probe.start),
        stop=column(lambda probe: probe.stop),
        end=column(lambda probe: probe.end),
        is_open=column(lambda probe: probe.is_open).astype(np.uint8),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What a probe gives, in the order of preference for each start, and its open starts."""

    matches: list[Match]
    open_starts: list[int]


def probe_all(prepared: PreparedRows, probes: Sequence[Probe], mode: ProbeMode) -> list[Shown]:
    """What each probe gives."""
    probe_matches = find(prepared, probes_of(probes, int(prepared.key_at[-1])), mode)
    shown = [Shown([], []) for _ in probes]
    for probe, match in zip(probe_matches.probe.tolist(), _by_rank(prepared, probe_matches), strict=True):
        shown[probe].matches.append(match)
    for probe, start in zip(probe_matches.open_probe.tolist(), probe_matches.open_start.tolist(), strict=True):
        shown[probe].open_starts.append(start)
    return shown


def _by_rank(prepared: PreparedRows, probe_matches: ProbeMatches) -> Iterator[Match]:
    """Probes and starts stay where they are: only the matches of one start change places."""
    order = np.lexsort((probe_matches.rank, probe_matches.start, probe_matches.probe))
    matches = matches_at(prepared, probe_matches, order)
    names = np.array(prepared.task.variables)[matches.label]
    for start, at, length in zip(
        matches.start.tolist(), matches.path_at.tolist(), matches.length.tolist(), strict=True
    ):
        yield start, "".join(names[at : at + length])


# --- from the definitions ---------------------------------------------------------------------------------------------


def ways(pattern: str, text: str, start: int, max_length: int | None = None) -> list[str]:
    """Every match from the row, as labels, the preferred first."""

    def admits(path: Path) -> bool:
        kind = text[start + len(path) - 1]
        if max_length is not None and len(path) > max_length:
            return False
        return {"A": True, "B": kind != "a", "C": kind == "c", "R": kind >= text[start]}[path[-1].variable]

    paths = in_preferment_order(parse_row_pattern(pattern), Search(start, len(text), admits))
    return list(dict.fromkeys("".join(label.variable for label in path) for path in paths))


def expected(pattern: str, text: str, probe: Probe, mode: ProbeMode, max_length: int | None = None) -> list[Match]:
    """What the mode asks for, when the rows before the end of the probe are all there are."""
    seen = text[: probe.end]
    all_ways = {start: ways(pattern, seen, start, max_length) for start in range(probe.start, probe.stop)}
    match mode:
        case ProbeMode.GROWING:
            return [(start, labels) for start, some in all_ways.items() for labels in _each_length_once(some)]
        case ProbeMode.RECORDS:
            return [
                (start, labels)
                for start, some in all_ways.items()
                for labels in _each_length_once(some)
                if labels == ways(pattern, text[: start + len(labels)], start, max_length)[0]
            ]
        case ProbeMode.MAXIMAL:
            longest = {start: max(_each_length_once(some), key=len, default="") for start, some in all_ways.items()}
            return [(start, labels) for start, labels in longest.items() if labels]
        case ProbeMode.PREFERRED:
            return [(start, some[0]) for start, some in all_ways.items() if some]
        case ProbeMode.INCREMENTAL:
            by_end: dict[int, Match] = {}
            for start, some in all_ways.items():
                for labels in _each_length_once(some):
                    by_end.setdefault(start + len(labels), (start, labels))
            return sorted(by_end.values(), key=lambda match: list(all_ways).index(match[0]))
        case ProbeMode.CHAINED:
            return list(_chain(all_ways, probe))


def _each_length_once(some: Sequence[str]) -> list[str]:
    first: dict[int, str] = {}
    for labels in some:
        if labels:
            first.setdefault(len(labels), labels)
    return list(first.values())


def _chain(all_ways: dict[int, list[str]], probe: Probe) -> Iterator[Match]:
    """The standard's matches, past the last row of each."""
    start = probe.start
    while start < probe.stop:
        some = all_ways[start]
        if some:
            yield start, some[0]
        start += max(1, len(some[0]) if some else 1)
