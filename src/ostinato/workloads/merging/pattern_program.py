"""One pattern of a workload as the shared plan takes it: states, steps, and what is asked on each step.

Front ends make these (`plan/event_programs.py` from event queries and from MATCH_RECOGNIZE with ALL MATCHES). No text
and no types here: conditions over one event are numbered by the front end, once for all patterns of a workload, and so
are edge tests; conditions over several events are expressions over canonical variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent

START = 0
"""The state before any event; no step leads to it."""


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """The event that takes a step against the one before it in the match: after's value `op` before's value.

    As `EdgeTest`: `<`, `<=`, `>`, `>=`, `=`, `<>`; NULL fails; NaN is the greatest and equals itself.
    """

    op: str
    before_value: int
    after_value: int


@dataclass(frozen=True, slots=True)
class PatternStep:
    """From `source`, an event bound to variable `label` leads to `target`.

    `absent` are conditions over one event: none may hold for an event of the sequence that lies strictly between the
    two (by `order`). `adjacent`: nothing at all may lie between them (`place` is one more). `checks` are the numbers of
    run conditions that are decided on this step, `edges` the tests against the event before.
    """

    source: int
    label: int
    target: int
    absent: tuple[int, ...] = ()
    adjacent: bool = False
    checks: tuple[int, ...] = ()
    edges: tuple[EdgeCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class PatternProgram:
    """`labels` are variables by number, under canonical names: equal parts of two patterns have equal names.

    Every state but START is entered by one label only, and the automaton is deterministic over labels, so a match is
    found once. `accepting` gives for each accepting state the run conditions that only the end decides.
    """

    name: str
    labels: tuple[str, ...]
    qualifies: tuple[int, ...]
    """For each label the number of its condition over one event."""
    states: int
    steps: tuple[PatternStep, ...]
    accepting: tuple[tuple[int, tuple[int, ...]], ...]
    run: tuple[RunCondition, ...] = ()
    """The run conditions that `checks` number, over canonical variables."""
    extent: Extent = field(default_factory=Extent)
    stream: int = 0
    """Patterns over other keys, groups or orders have other streams; they are never merged."""
    bounded: bool = False
    """Whether matches may be given up. A bounded pattern shares no state with one that has no bound: the work on a
    shared state can't be saved, so the bounded pattern would lose everything else."""
