"""Matches of probes over letters: those of the kernel, and those of the definitions with the oracle's preference."""

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
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.expressions.types import Settings
from ostinato.reference.preferment import Path, Search, in_preferment_order
from ostinato.rows.arrow_tables import columns_of

DEFINE = {"A": "", "B": "B AS kind <> 'a'", "C": "C AS kind = 'c'", "R": "R AS kind >= FIRST(kind)"}
"""A takes every row. R reads the run: its row is at least the first row of the match."""

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
    ready = EvaluatedPlan(plan, table.schema, Settings(), Limits())
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
class ProbeResult:
    """The matches of a probe, by start and in order of preference, and its open starts."""

    matches: list[Match]
    open_starts: list[int]


def probe_all(prepared: PreparedRows, probes: Sequence[Probe], mode: ProbeMode) -> list[ProbeResult]:
    """The result of each probe."""
    probe_matches = find(prepared, probes_of(probes, int(prepared.key_at[-1])), mode)
    results = [ProbeResult([], []) for _ in probes]
    for probe, match in zip(probe_matches.probe.tolist(), _by_rank(prepared, probe_matches), strict=True):
        results[probe].matches.append(match)
    for probe, start in zip(probe_matches.open_probe.tolist(), probe_matches.open_start.tolist(), strict=True):
        results[probe].open_starts.append(start)
    return results


def _by_rank(prepared: PreparedRows, probe_matches: ProbeMatches) -> Iterator[Match]:
    """The matches by probe, start and rank."""
    order = np.lexsort((probe_matches.rank, probe_matches.start, probe_matches.probe))
    matches = matches_at(prepared, probe_matches, order)
    names = np.array(prepared.task.variables)[matches.label]
    for start, path_start, length in zip(
        matches.start.tolist(), matches.path_at.tolist(), matches.length.tolist(), strict=True
    ):
        yield start, "".join(names[path_start : path_start + length])


# --- from the definitions ---------------------------------------------------------------------------------------------


def matches_from(pattern: str, text: str, start: int, max_length: int | None = None) -> list[str]:
    """All matches from a start, as labels, in order of preference."""

    def admits(path: Path) -> bool:
        kind = text[start + len(path) - 1]
        if max_length is not None and len(path) > max_length:
            return False
        return {"A": True, "B": kind != "a", "C": kind == "c", "R": kind >= text[start]}[path[-1].variable]

    paths = in_preferment_order(parse_row_pattern(pattern), Search(start, len(text), admits))
    return list(dict.fromkeys("".join(label.variable for label in path) for path in paths))


def expected(pattern: str, text: str, probe: Probe, mode: ProbeMode, max_length: int | None = None) -> list[Match]:
    """The matches of the mode, if there are only the rows before the end of the probe."""
    known_rows = text[: probe.end]
    matches_by_start = {
        start: matches_from(pattern, known_rows, start, max_length) for start in range(probe.start, probe.stop)
    }
    match mode:
        case ProbeMode.GROWING:
            return [
                (start, labels)
                for start, labelings in matches_by_start.items()
                for labels in _each_length_once(labelings)
            ]
        case ProbeMode.RECORDS:
            return [
                (start, labels)
                for start, labelings in matches_by_start.items()
                for labels in _each_length_once(labelings)
                if labels == matches_from(pattern, text[: start + len(labels)], start, max_length)[0]
            ]
        case ProbeMode.MAXIMAL:
            longest = {
                start: max(_each_length_once(labelings), key=len, default="")
                for start, labelings in matches_by_start.items()
            }
            return [(start, labels) for start, labels in longest.items() if labels]
        case ProbeMode.PREFERRED:
            return [(start, labelings[0]) for start, labelings in matches_by_start.items() if labelings]
        case ProbeMode.INCREMENTAL:
            by_end: dict[int, Match] = {}
            for start, labelings in matches_by_start.items():
                for labels in _each_length_once(labelings):
                    by_end.setdefault(start + len(labels), (start, labels))
            return sorted(by_end.values(), key=lambda match: list(matches_by_start).index(match[0]))
        case ProbeMode.CHAINED:
            return list(_chain(matches_by_start, probe))


def _each_length_once(labelings: Sequence[str]) -> list[str]:
    first: dict[int, str] = {}
    for labels in labelings:
        if labels:
            first.setdefault(len(labels), labels)
    return list(first.values())


def _chain(matches_by_start: dict[int, list[str]], probe: Probe) -> Iterator[Match]:
    """The matches of the SQL standard with SKIP PAST LAST ROW."""
    start = probe.start
    while start < probe.stop:
        labelings = matches_by_start[start]
        if labelings:
            yield start, labelings[0]
        start += max(1, len(labelings[0]) if labelings else 1)
