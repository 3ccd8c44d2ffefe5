"""One pattern of a workload in the form that the shared plan takes: states, steps, and the conditions of each step.

Front ends make these (`plan/event_programs.py` from event queries and from MATCH_RECOGNIZE with ALL MATCHES). No text
and no types here. The front end numbers the conditions over one event and the edge tests, once for all patterns of a
workload. Conditions over several events are expressions over canonical variables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent

START = 0
"""The state before any event; no step leads to it."""


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """Compares the event of a step with the one before it in the match: after's value `op` before's value.

    As `EdgeTest`: `<`, `<=`, `>`, `>=`, `=`, `<>`; NULL fails; NaN is the greatest and equals itself.
    """

    op: str
    before_value: int
    after_value: int


@dataclass(frozen=True, slots=True)
class PatternStep:
    """From `source`, an event bound to variable `label` leads to `target`.

    `absent` are conditions over one event. None of them may hold for an event of the sequence strictly between the two
    (by `order`). `adjacent`: no event may lie between them (`place` is one more). `checks` are the numbers of run
    conditions that this step decides, `edges` the tests against the event before.
    """

    source: int
    label: int
    target: int
    absent: tuple[int, ...] = ()
    adjacent: bool = False
    checks: tuple[int, ...] = ()
    edges: tuple[EdgeCheck, ...] = ()


def canonical_names(qualifies: Sequence[int]) -> tuple[str, ...]:
    """The names of variables with these conditions over one event, in the order of the pattern.

    >>> canonical_names([0, 4, 0])
    ('c0#1', 'c4#1', 'c0#2')
    """
    counts: Counter[int] = Counter()
    names = []
    for condition in qualifies:
        counts[condition] += 1
        names.append(f"c{condition}#{counts[condition]}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class PatternProgram:
    """`labels` are `canonical_names` of the variables: equal sub-patterns of two patterns have equal names.

    Every state but START is entered by one label only, and the automaton is deterministic over labels, so a match is
    found once. `accepting` gives each accepting state with the run conditions that only the end of a match decides.
    """

    name: str
    labels: tuple[str, ...]
    qualifies: tuple[int, ...]
    """[label] number of its condition over one event."""
    states: int
    steps: tuple[PatternStep, ...]
    accepting: tuple[tuple[int, tuple[int, ...]], ...]
    run: tuple[RunCondition, ...] = ()
    """The run conditions that `checks` number, over canonical variables."""
    extent: Extent = field(default_factory=Extent)
    stream: int = 0
    """Patterns with other keys, groups or orders belong to other streams, and are never merged."""
    bounded: bool = False
    """Whether matches may be given up. A bounded pattern shares no state with an unbounded one. Work on a shared state
    couldn't be saved, so the bounded pattern would lose all of its other state."""
