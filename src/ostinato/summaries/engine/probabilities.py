"""Probability of each type, and the mean time between events: given by the query, or learnt from the stream.

Counts decay, so that they follow a changing stream. They are applied only from time to time, because the benefit has to
recompute its table. The number of events alone decides when, so the size of batches doesn't matter.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel
from ostinato.summaries.engine.kernel_tables import NOW, SEEN, STARTED

LEARN_EVERY = 256
"""Events between two updates of the probabilities. At the start, updates come at every power of two."""


@called_kernel
def learn(columns, choice, type, time):  # type: ignore[no-untyped-def]
    """Updates the decaying counts of types and gaps. Returns whether probabilities and tick are due for an update."""
    learnt, marks = columns.learnt, columns.marks
    last = len(learnt) - 1
    for i in range(last + 1):
        learnt[i] *= choice.decay
    learnt[type] += 1.0
    if marks[STARTED]:
        learnt[last - 1] += 1.0
        learnt[last] += time - marks[NOW]
    seen = marks[SEEN]
    return seen % LEARN_EVERY == 0 or (seen < LEARN_EVERY and seen & (seen - 1) == 0)


@called_kernel
def settle_learning(columns, choice):  # type: ignore[no-untyped-def]
    """Updates probabilities and tick. Adds 1 to the count of each type, so that none has probability 0."""
    learnt = columns.learnt
    types = len(columns.probabilities)
    if choice.learns_types:
        total = 0.0
        for type in range(types):
            total += learnt[type] + 1.0
        total += learnt[types]
        for type in range(types):
            columns.probabilities[type] = (learnt[type] + 1.0) / total
    if choice.learns_tick and learnt[types + 1] > 0.0:
        columns.tick[0] = learnt[types + 2] / learnt[types + 1]
