"""Program -> the holders of sums that its edges need, and the arrays for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.event_queries.automaton.trend_automaton import START, Transition
from ostinato.event_queries.plan.event_program import EdgeTest, Program
from ostinato.event_queries.trends.separate.ordered_kernel import (
    ABOVE,
    BELOW,
    EACH,
    LISTED,
    PLAIN,
    WITH_EQUAL,
    WITHOUT_EQUAL,
    OrderedPlan,
)
from ostinato.event_queries.trends.separate.running_plan import ints, offsets

NO_TEST = -1
BEFORE_ANY = (START, -1)
HOLDERS_OF_TEST = {
    # The later event's value `op` the earlier one's.
    "<": ((ABOVE, WITHOUT_EQUAL),),
    "<=": ((ABOVE, WITH_EQUAL),),
    ">": ((BELOW, WITHOUT_EQUAL),),
    ">=": ((BELOW, WITH_EQUAL),),
    "=": ((EACH, WITH_EQUAL),),
    "<>": ((BELOW, WITHOUT_EQUAL), (ABOVE, WITHOUT_EQUAL)),
}


@dataclass(frozen=True, slots=True)
class Holder:
    """Holds the trends that ended in a class (a state and the label that led to it) since an event of `emptied_by`
    occurred."""

    of: tuple[int, int]
    emptied_by: frozenset[int]
    kind: int = PLAIN
    test: int = NO_TEST
    result: bool = False


class HolderPlan:
    """The holders of a program, in order, and their arrays for the kernel."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tests: tuple[EdgeTest, ...] = program.edges
        transitions = program.automaton.transitions
        self.classes = sorted({(t.target, t.label) for t in transitions})
        edges = [edge for t in transitions for edge in self._edges(t)]
        totals = [Holder(of, frozenset()) for of in self.classes]
        results = [
            Holder(of, absences, result=bool(absences))
            for of in self.classes
            if of[0] in program.automaton.accepting
            for absences in [program.automaton.absences_at_end(of[0])]
        ]
        every = dict.fromkeys([*(holder for _, holder, _ in edges), *totals, *results])
        # START's holders come first.
        self.holders = sorted(every, key=lambda holder: holder.of != BEFORE_ANY)
        self.plan = self._arrays(edges, totals, results)

    def _edges(self, transition: Transition) -> list[tuple[Transition, Holder, int]]:
        """The edges of a transition: (transition, holder, whether equal values pass)."""
        emptied_by = frozenset(transition.absences)
        if transition.source == START:
            return [(transition, Holder(BEFORE_ANY, emptied_by), WITH_EQUAL)]
        edges = []
        for of in self.classes:
            if of[0] != transition.source:
                continue
            number = self._test(of[1], transition.label)
            if number == NO_TEST:
                candidates: Sequence[tuple[int, int]] = ((PLAIN, WITH_EQUAL),)
            elif (op := self.tests[number].op) is None:
                candidates = ((LISTED, WITH_EQUAL),)
            else:
                candidates = HOLDERS_OF_TEST[op]
            edges += [(transition, Holder(of, emptied_by, kind, number), equal) for kind, equal in candidates]
        return edges

    def _test(self, before: int, after: int) -> int:
        pairs = [(test.before, test.after) for test in self.tests]
        return pairs.index((before, after)) if (before, after) in pairs else NO_TEST

    def _arrays(
        self, edges: Sequence[tuple[Transition, Holder, int]], totals: Sequence[Holder], results: Sequence[Holder]
    ) -> OrderedPlan:
        automaton = self.program.automaton
        number = {holder: i for i, holder in enumerate(self.holders)}
        of_class = [[number[h] for h in self.holders if h.of == of] for of in self.classes]
        resets = [[number[h] for h in self.holders if a in h.emptied_by] for a in range(len(automaton.absences))]

        def key(edge: tuple[Transition, Holder, int]) -> tuple[int, int, int]:
            transition, holder, _ = edge
            return transition.label, self.classes.index((transition.target, transition.label)), number[holder]

        ordered = sorted(edges, key=key)
        per_label = [sum(t.label == label for t, _, _ in ordered) for label in range(len(automaton.labels))]
        return OrderedPlan(
            labels=len(automaton.labels),
            edge_at=ints(np.cumsum([0, *per_label]).tolist()),
            edge_holder=ints(number[holder] for _, holder, _ in ordered),
            edge_equal=ints(equal for _, _, equal in ordered),
            edge_class=ints(self.classes.index((t.target, t.label)) for t, _, _ in ordered),
            kind=ints(holder.kind for holder in self.holders),
            test=ints(holder.test for holder in self.holders),
            start=sum(holder.of == BEFORE_ANY for holder in self.holders),
            holder_at=offsets(of_class),
            holder_of=ints(h for of in of_class for h in of),
            reset_at=offsets(resets),
            reset_holder=ints(h for of in resets for h in of),
            totals=ints(number[holder] for holder in totals),
            results=ints(number[holder] for holder in results),
        )
