"""Ledger -> Sketch: what has been seen of each class lately, with old counts fading (SHARP's historical data sketch).

The paper counts the complete matches of each key. Those are rare: most classes would wait many windows for their first.
Here the sketch counts which classes come out of which, so what a class is worth follows from what its children are
worth (`worth.py`), and a class is known after a few visits.

Rates (attempts, visits) fade within a window or so: they follow the load. Chains fade slowly: they are knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from ostinato.techniques.bounded_latency.plan_shape import PlanShape

from ostinato.techniques.bounded_latency.ledger import Ledger

Reals = NDArray[np.float64]
SURPRISE = 2.0
"""By which factor births must differ from what was expected for the chains to count as out of date."""
SURPRISED_BY = 1e4
"""Births that must be expected, or seen, before they can surprise."""
AFTER_A_SURPRISE = 0.05
"""What remains of a node's chains then."""
STEADY = 0.98
ENOUGH = 20.0
"""Partial matches that a pace is taken from, at least; and so many of the usual pace count beside them."""


def living(made: Reals) -> Reals:
    """[class, age at making] -> [class, age]: those that live through the age. Half of those made in it count."""
    return np.cumsum(made, axis=1) - 0.5 * made


@dataclass(slots=True)
class Sketch:
    """Counts by class or slot ([class, age]), all of them faded. Changed in place by `observe`."""

    shape: PlanShape
    class_at: NDArray[np.int64]
    ages: int
    rows: float = 0.0
    """Events seen, faded as the rates are."""
    attempts: Reals = field(init=False)
    """[class, age] partial matches made or refused."""
    created: Reals = field(init=False)
    visits: Reals = field(init=False)
    checks: Reals = field(init=False)
    """[node]"""
    step_work: Reals = field(init=False)
    kept: Reals = field(init=False)
    """[class, age] which share the orders kept, on average."""
    chain_visits: Reals = field(init=False)
    """[class]"""
    chains: dict[tuple[int, int], Reals] = field(init=False)
    """By (node, child): [class of the node, class of the child] births."""
    ended: Reals = field(init=False)
    """[class, pattern] matches of which such a partial match was the last."""
    made: Reals = field(init=False)
    """[class] partial matches made; fades as chains do."""
    pace: Reals = field(init=False)
    """[node] visits that a partial match gets in one age."""

    def __post_init__(self) -> None:
        classes, at = int(self.class_at[-1]), self.class_at
        self.attempts, self.created, self.visits = (np.zeros((classes, self.ages)) for _ in range(3))
        self.checks = np.zeros(self.shape.nodes)
        self.step_work = np.zeros(len(self.shape.step_source))
        self.kept = np.ones((classes, self.ages))
        self.pace = np.ones(self.shape.nodes)
        self.chain_visits, self.made = np.zeros(classes), np.zeros(classes)
        self.ended = np.zeros((classes, self.shape.patterns))
        self.chains = {(n, c): np.zeros((at[n + 1] - at[n], at[c + 1] - at[c])) for n, c in self.shape.pairs}

    @property
    def node_of(self) -> NDArray[np.int64]:
        """[class]"""
        return np.repeat(np.arange(self.shape.nodes), np.diff(self.class_at))

    def of(self, node: int) -> slice:
        """The classes of a node."""
        return slice(int(self.class_at[node]), int(self.class_at[node + 1]))

    def by_node(self, of_classes: Reals) -> Reals:
        """Sums over the classes of each node. Every node has at least one class."""
        return np.add.reduceat(of_classes, self.class_at[:-1], axis=0)

    def observe(self, counted: Ledger, rows: int, kept: Reals, fade: float, slow_fade: float) -> None:
        """`counted`: what the ledger grew by over `rows` events, while `kept` of each slot was kept."""
        slots = self.attempts.shape
        created, visits = counted.created.reshape(slots), counted.visits.reshape(slots)
        self.rows = self.rows * fade + rows
        self.attempts = self.attempts * fade + created + counted.refused.reshape(slots)
        self.created = self.created * fade + created
        self.visits = self.visits * fade + visits
        self.checks = self.checks * fade + self.by_node(counted.checks.astype(np.float64))
        self.step_work = self.step_work * fade + counted.step_work
        self.kept = self.kept * fade + kept * (1 - fade)
        self.ended = self.ended * slow_fade + counted.completed
        self.made = self.made * slow_fade + created.sum(axis=1)
        self._observe_chains(counted, visits.sum(axis=1), slow_fade)
        self._observe_pace()

    def doubt(self, node: int, remains: float) -> None:
        """What was learnt of a node, and of what leads to it, counts for less from now on."""
        for parent in {node} | {n for n, c in self.shape.pairs if c == node}:
            self.chain_visits[self.of(parent)] *= remains
            for child in self.shape.children[parent]:
                self.chains[parent, child] *= remains

    def _observe_pace(self) -> None:
        """From slots that were kept whole up to their age: of others we don't know how many were there to visit."""
        steady = np.minimum.accumulate(self.kept, axis=1) > STEADY
        visited = self.by_node((self.visits * steady).sum(axis=1))
        present = self.by_node((living(self.created) * steady).sum(axis=1))
        usual = (float(visited.sum()) + ENOUGH) / (float(present.sum()) + ENOUGH)
        self.pace = np.where(present > ENOUGH, (visited + ENOUGH * usual) / (present + ENOUGH), self.pace)

    def _observe_chains(self, counted: Ledger, visits: Reals, fade: float) -> None:
        parent, child = counted.births[1 : 1 + counted.births[0, 0]].T
        weight = self._log_weight(counted, len(parent))
        at, node_of = self.class_at, self.node_of
        pair = node_of[parent] * self.shape.nodes + node_of[child]
        for n, children in enumerate(self.shape.children):
            born = {}
            for c in children:
                chain, here = self.chains[n, c], pair == n * self.shape.nodes + c
                cell = (parent[here] - at[n]) * chain.shape[1] + child[here] - at[c]
                born[c] = weight * np.bincount(cell, minlength=chain.size).reshape(chain.shape)
            keep = fade * self._still_true(n, visits[self.of(n)], sum(float(births.sum()) for births in born.values()))
            for c, births in born.items():
                self.chains[n, c] = self.chains[n, c] * keep + births
            self.chain_visits[self.of(n)] = self.chain_visits[self.of(n)] * keep + visits[self.of(n)]

    def _log_weight(self, counted: Ledger, logged: int) -> float:
        """How many births an entry of the log stands for: it may have been full."""
        attempts = (counted.created + counted.refused).reshape(self.attempts.shape).sum(axis=1).astype(np.float64)
        out_of_others = self.by_node(attempts)[~self.shape.first].sum()
        return max(1.0, float(out_of_others) / logged) if logged else 1.0

    def _still_true(self, node: int, visits: Reals, born: float) -> float:
        """How much of a node's chains to keep, seeing how many were born and how many they made us expect."""
        seen = self.chain_visits[self.of(node)]
        births = sum(self.chains[node, child].sum(axis=1) for child in self.shape.children[node])
        expected = float((births / np.maximum(seen, 1.0)) @ np.where(seen > 1.0, visits, 0.0))
        surprising = max(expected, born) > SURPRISED_BY and not 1 / SURPRISE < (born + 1) / (expected + 1) < SURPRISE
        return AFTER_A_SURPRISE if surprising else 1.0
