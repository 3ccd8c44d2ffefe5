"""Ledger -> Sketch: recent counts of each class, with old ones fading (SHARP's historical data sketch).

The paper counts the complete matches of each key. They are rare: most classes would wait many windows for the first
one. Here the sketch counts the classes of the children of each class, in a *chain* for each node and child. The
contribution of a class follows from those of its children (`utility.py`), so a few visits are enough to estimate it.

Rates (attempts, visits) follow the load, and fade within about a window. Chains change less, and fade slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import Ledger, chain_begins
from ostinato.workloads.matcher.plan_shape import PlanLinks, PlanShape, links_of

Reals = NDArray[np.float64]
STEADY = 0.98
"""Smallest kept fraction of slots that the pace is measured in."""
PACE_PRIOR = 20.0
"""A node gets its own pace if it has more than this many partial matches. Its pace is smoothed: this many partial
matches with the average pace are added."""
MIN_FIRST_EVENTS = 16.0
"""First events that must have arrived before the window is measured."""
WINDOW_GUESS, SHORTEST_WINDOW, LONGEST_WINDOW = 1024.0, 64.0, 1e7
SAME_WINDOW = 1.1
"""Largest factor by which a window changes from one update to the next, if its length is a guess."""


def next_window(before: float, window_rows: float | None, rows: int, is_guess: bool) -> float:
    """The window in rows, after an update by `rows` events. `window_rows`: as measured; None: unknown."""
    if window_rows is None:
        return before
    if is_guess:
        window_rows = min(max(window_rows, before / SAME_WINDOW), before * SAME_WINDOW)
    return before + min(1.0, rows / before) * (min(max(window_rows, SHORTEST_WINDOW), LONGEST_WINDOW) - before)


def living(created_by_age: Reals) -> Reals:
    """[class, age when made] -> [class, age]: partial matches that live through the age. Those made in it count
    half."""
    return np.cumsum(created_by_age, axis=1) - 0.5 * created_by_age


@dataclass(slots=True)
class Sketch:
    """Faded counts by class or slot ([class, age]). `observe` changes them in place."""

    shape: PlanShape
    class_at: NDArray[np.int64]
    ages: int
    rows: float = 0.0
    """Events seen, faded as the rates are."""
    attempts: Reals = field(init=False)
    """[class, age] partial matches made or refused."""
    created: Reals = field(init=False)
    evicted: Reals = field(init=False)
    """[class, age] partial matches dropped to give memory back, by their age then."""
    visits: Reals = field(init=False)
    checks: Reals = field(init=False)
    """[node]"""
    step_work: Reals = field(init=False)
    kept_share: Reals = field(init=False)
    """[class, age] mean fraction that the keep masks kept for at least one pattern."""
    full_share: Reals = field(init=False)
    """[class, age] mean fraction that they kept for all patterns."""
    chain_visits: Reals = field(init=False)
    """[class] visits to whole partial matches (`ledger.py`): chains are learnt from those."""
    cells: Reals = field(init=False)
    """All chains, one behind the other."""
    chain_at: dict[tuple[int, int], int] = field(init=False)
    """By (node, child) the first cell of the chain."""
    chain_begins: NDArray[np.int64] = field(init=False)
    """The same in the order of `links.child`."""
    parent_of: NDArray[np.int64] = field(init=False)
    """[cell] class of the parent."""
    links: PlanLinks = field(init=False)
    node_of: NDArray[np.int64] = field(init=False)
    """[class]"""
    ended: Reals = field(init=False)
    """[class, pattern] matches that fully kept partial matches of the class completed."""
    made: Reals = field(init=False)
    """[class] fully kept partial matches that were made; fades as chains do."""
    pace: Reals = field(init=False)
    """[node] visits of a partial match in one age."""

    def __post_init__(self) -> None:
        classes, at = int(self.class_at[-1]), self.class_at
        self.attempts, self.created, self.evicted, self.visits = (np.zeros((classes, self.ages)) for _ in range(4))
        self.checks = np.zeros(self.shape.nodes)
        self.step_work = np.zeros(len(self.shape.step_source))
        self.kept_share, self.full_share = np.ones((classes, self.ages)), np.ones((classes, self.ages))
        self.pace = np.ones(self.shape.nodes)
        self.chain_visits, self.made = np.zeros(classes), np.zeros(classes)
        self.ended = np.zeros((classes, self.shape.patterns))
        begins = chain_begins(at, self.shape.pairs)
        self.cells = np.zeros(int(begins[-1]))
        self.chain_begins = begins[:-1]
        self.chain_at = dict(zip(self.shape.pairs, begins.tolist(), strict=False))
        self.links = links_of(self.shape)
        self.node_of = np.repeat(np.arange(self.shape.nodes), np.diff(self.class_at))
        parents = [np.repeat(np.arange(at[n], at[n + 1]), at[c + 1] - at[c]) for n, c in self.shape.pairs]
        self.parent_of = np.concatenate([np.zeros(0, np.int64), *parents])

    @property
    def born(self) -> Reals:
        """[class] births out of its partial matches."""
        return np.bincount(self.parent_of, self.cells, int(self.class_at[-1])).astype(np.float64)

    def chain(self, node: int, child: int) -> Reals:
        """[class of the node, class of the child] births. A view: it may be written to."""
        at, begin = self.class_at, self.chain_at[node, child]
        rows, columns = int(at[node + 1] - at[node]), int(at[child + 1] - at[child])
        return self.cells[begin : begin + rows * columns].reshape(rows, columns)

    def of(self, node: int) -> slice:
        """The classes of a node."""
        return slice(int(self.class_at[node]), int(self.class_at[node + 1]))

    def by_node(self, of_classes: Reals) -> Reals:
        """Sums over the classes of each node. Every node has at least one class."""
        return np.add.reduceat(of_classes, self.class_at[:-1], axis=0)

    def observe(
        self, counted: Ledger, rows: int, kept_share: Reals, full_share: Reals, fade: float, slow_fade: float
    ) -> None:
        """`counted`: growth of the ledger over `rows` events. The shares are those of the keep masks at that time."""
        slots = self.attempts.shape
        created, visits = counted.created.reshape(slots), counted.visits.reshape(slots)
        self.rows = self.rows * fade + rows
        self.attempts = self.attempts * fade + created + counted.refused.reshape(slots)
        self.created = self.created * fade + created
        self.evicted = self.evicted * fade + counted.evicted.reshape(slots)
        self.visits = self.visits * fade + visits
        self.checks = self.checks * fade + self.by_node(counted.checks.astype(np.float64))
        self.step_work = self.step_work * fade + counted.step_work
        self.kept_share = self.kept_share * fade + kept_share * (1 - fade)
        self.full_share = self.full_share * fade + full_share * (1 - fade)
        self.ended = self.ended * slow_fade + counted.whole_ended
        self.made = self.made * slow_fade + counted.whole_made
        self.chain_visits = self.chain_visits * slow_fade + counted.whole_visits
        self.cells = self.cells * slow_fade + counted.births
        self._observe_pace()

    def window_rows(self, live: NDArray[np.int64]) -> float | None:
        """The window in rows of the stream, by Little's law: living first events for each that came, as if all of them
        were kept. `live`: [class] partial matches now. None: too few first events have come."""
        first = self.shape.first[self.node_of]
        created = self.created[first].sum(axis=1)
        if float(created.sum()) < MIN_FIRST_EVENTS:
            return None
        survival = np.minimum.accumulate(self.kept_share[first], axis=1).mean(axis=1)
        return float(live[first].sum()) * self.rows / float((created * survival).sum())

    def discount(self, node: int, remains: float) -> None:
        """Lowers the weight of the chains of a node and its parents by the factor `remains`."""
        for parent in {node} | {n for n, c in self.shape.pairs if c == node}:
            self.chain_visits[self.of(parent)] *= remains
            for child in self.shape.children[parent]:
                self.chain(parent, child)[:] *= remains

    def _observe_pace(self) -> None:
        """Measures the pace in slots of which nothing was dropped up to their age. In others the number of partial
        matches is unknown. Evicted partial matches count up to the age of their eviction."""
        steady = np.minimum.accumulate(self.full_share, axis=1) > STEADY
        visited = self.by_node((self.visits * steady).sum(axis=1))
        present = self.by_node((living(self.created - self.evicted) * steady).sum(axis=1))
        usual = (float(visited.sum()) + PACE_PRIOR) / (float(present.sum()) + PACE_PRIOR)
        own = (visited + PACE_PRIOR * usual) / (present + PACE_PRIOR)
        self.pace = np.where(present > PACE_PRIOR, own, self.pace)
