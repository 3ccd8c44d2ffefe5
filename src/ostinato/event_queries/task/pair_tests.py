"""Conditions over two adjacent events that aren't comparisons of two numbers -> tests of pairs for engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import PairTest
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.syntax import Expr, Navigation
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Vector


def tie_pair_tests(
    tests: Sequence[Expr],
    vector: Callable[[Expr], Vector],
    operand_type: Callable[[Expr], pa.DataType],
    settings: Settings,
) -> tuple[PairTest, ...]:
    """The tests over the current events; `vector` gives the values of an expression over one event, for all events."""

    def leaf_type(node: Expr) -> pa.DataType | None:
        return operand_type(node.operand) if isinstance(node, Navigation) else None

    return tuple(_tied(prepare(test, leaf_type, settings), vector) for test in tests)


def _tied(ready: PreparedExpression, vector: Callable[[Expr], Vector]) -> PairTest:
    def test(earlier: NDArray[np.int64], later: NDArray[np.int64]) -> NDArray[np.bool_]:
        def leaf(node: Expr) -> Vector | None:
            if not isinstance(node, Navigation):
                return None
            return vector(node.operand).take(later if node.skip == 0 else earlier)

        return ready.mask(leaf, len(earlier))

    return test
