"""How likely each type is to come next, and how soon: given by the query, or learnt while the stream runs.

Counts decay, so that a stream may change its habits. What was learnt is looked at only now and then, because the
benefit keeps a table that follows from it; when, depends on the number of events alone, so batches may be cut anywhere.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel
from ostinato.summaries.engine.kernel_tables import NOW, SEEN, STARTED

LEARN_EVERY = 256
"""Events between two looks at what was learnt; sooner at the start, at every power of two."""


@called_kernel
def learn(columns, choice, type, time):  # type: ignore[no-untyped-def]
    """Decaying counts of types and gaps. Returns whether probabilities and tick are now taken from them."""
    learnt, marks = columns.learnt, columns.marks
    last = len(learnt) - 1
    for place in range(last + 1):
        learnt[place] *= choice.decay
    learnt[type] += 1.0
    if marks[STARTED]:
        learnt[last - 1] += 1.0
        learnt[last] += time - marks[NOW]
    seen = marks[SEEN]
    return seen % LEARN_EVERY == 0 or (seen < LEARN_EVERY and seen & (seen - 1) == 0)


@called_kernel
def settle_learning(columns, choice):  # type: ignore[no-untyped-def]
    """Each type of the expression is taken as seen once more than it was: no probability is 0."""
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
