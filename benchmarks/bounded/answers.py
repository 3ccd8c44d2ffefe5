"""Before anything is measured: without a bound all modes find what the enumerator finds, with one a part of that."""

from __future__ import annotations

from typing import get_args

import numpy as np

from benchmarks.bounded.comparing import POLICIES
from benchmarks.bounded.queries import q1_q2, q1_q2_of_length, q3_q4, q5_q6, q5_q6_clauses
from benchmarks.bounded.recorded import CLAUSE_WINDOW, crimes
from benchmarks.bounded.running import TARIFF, Mode, Outcome, bounded_run, without_bound
from benchmarks.bounded.streams import ds1, ds2
from benchmarks.bounded.workloads import EventWork, Work, clause_work, event_work
from benchmarks.experiment import Scale, expect
from benchmarks.records import Record

EVENTS, SEED = 3_000, 5
SHARE = 0.3
KLEENE_WINDOW = 300


def check_answers(scale: Scale) -> list[Record]:
    """Raises WrongAnswer."""
    synthetic = {
        "Q1+Q2 on DS2": event_work(q1_q2(KLEENE_WINDOW), ds2(EVENTS, SEED)),
        "Q1+Q2 of length 5 on DS1": event_work(q1_q2_of_length(5, KLEENE_WINDOW), ds1(EVENTS, SEED)),
        "Q3+Q4 on DS1": event_work(q3_q4(), ds1(EVENTS, SEED)),
        "Q3+Q4 on DS1, shared at offset 2": event_work(q3_q4(offset=2), ds1(EVENTS, SEED)),
        "Q5+Q6 on DS1": event_work(q5_q6(), ds1(EVENTS, SEED)),
    }
    records = []
    for case, whole in synthetic.items():
        for mode in get_args(Mode):
            _check_exact(case, whole, without_bound(whole.work, TARIFF, mode).outcome)
        records.append(_checked(case, whole.work))
    rows = crimes()
    if rows is not None:
        work = clause_work(q5_q6_clauses(CLAUSE_WINDOW), rows.slice(0, EVENTS))
        found = without_bound(work, TARIFF).outcome
        expect("matches of Q5+Q6 on crimes", tuple(m.count for m in found.matches), work.count_exactly())
        records.append(_checked("Q5+Q6 on crimes", work))
    return records


def _check_exact(case: str, whole: EventWork, outcome: Outcome) -> None:
    for query, matches in enumerate(outcome.matches):
        right, found = whole.exactly(query), whole.in_order(matches)
        same = all(np.array_equal(getattr(found, part), getattr(right, part)) for part in ("offsets", "rows", "labels"))
        expect(f"{case}, query {query + 1}: whether its {right.count:,} matches are the enumerator's", same, True)


def _checked(case: str, work: Work) -> Record:
    """What is found under a bound is among what is found without."""
    without = without_bound(work, TARIFF)
    everything = matches_of(without.outcome)
    for policy in POLICIES:
        kept = matches_of(bounded_run(work, SHARE, policy, TARIFF, without))
        expect(f"{case}, {policy}: matches that aren't there without a bound", len(kept - everything), 0)
    return Record("bounded", "answers", case, "matches checked", len(everything), "")


def matches_of(outcome: Outcome) -> set[tuple[int, bytes, bytes]]:
    """Pattern, rows and labels of each match."""
    return {
        (pattern, matches.rows[first:end].tobytes(), matches.labels[first:end].tobytes())
        for pattern, matches in enumerate(outcome.matches)
        for first, end in zip(matches.offsets[:-1].tolist(), matches.offsets[1:].tolist(), strict=True)
    }
