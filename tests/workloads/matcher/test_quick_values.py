"""Values that need no interpreter: what is worked out before, and what is left to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.workloads.shedding.bounded_runs import Stream, run

from ostinato.expressions.run_conditions.opcodes import HERE, Op
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.workloads.matcher.quick_values import QuickValues, find_quick_values

Code = tuple[tuple[int, int, int, int], ...]
V = (int(Op.LOAD_REAL), 0, HERE, 0)
WHOLE = (int(Op.LOAD_WHOLE), 1, 2, 0)
TO_REAL = (int(Op.TO_REAL), 0, 0, 0)
TIMES = (int(Op.MULTIPLY_REAL), 0, 0, 0)


def _quick(code: Code) -> QuickValues:
    return find_quick_values(RunProgram((), (), (), (), code, (0, 1), (0, len(code)), (2.5,), ()))


def _constant(value: int) -> tuple[int, int, int, int]:
    return int(Op.WHOLE), value, 0, 0


def test_constants_are_worked_out_before() -> None:
    product = (_constant(2), _constant(6_371_000), (int(Op.MULTIPLY), 32, 1, 0), TO_REAL)
    found = _quick((*product, V, TIMES))
    assert found.is_quick.tolist() == [True]
    assert found.code.tolist() == [[Op.REAL, 0, 0], [Op.LOAD_REAL, 0, HERE], [Op.MULTIPLY_REAL, 0, 0]]
    assert found.reals.tolist() == [12_742_000.0]


def test_a_whole_column_may_be_read_as_real() -> None:
    found = _quick((WHOLE, TO_REAL, V, TIMES))
    assert found.code[:, 0].tolist() == [Op.LOAD_WHOLE, Op.LOAD_REAL, Op.MULTIPLY_REAL]


@pytest.mark.parametrize(
    "code",
    [
        (_constant(1 << 30), _constant(2), (int(Op.MULTIPLY), 32, 1, 0), TO_REAL),  # overflow: an error
        (WHOLE, WHOLE, (int(Op.ADD), 64, 1, 0), TO_REAL),
        ((int(Op.LOAD_REAL), 0, HERE, -1),),  # a row before
        (WHOLE, (int(Op.TO_REAL), 2, 0, 0)),  # a decimal
        (V, V, (int(Op.LESS_REAL), 0, 0, 0)),
        (WHOLE,),
    ],
)
def test_what_is_left_to_the_interpreter(code: Code) -> None:
    assert _quick(code).is_quick.tolist() == [False]


def test_rows_that_are_read_again_give_the_same_features() -> None:
    """Several a before each b, several b before each c: births of one event come in groups, and those that a class is
    looked up for again must not get the class of another."""
    rng, count = np.random.default_rng(4), 600
    columns = {
        "at": pa.array(np.arange(count)),
        "kind": pa.array(rng.choice(list("AABBC"), count)),
        "id": pa.array(rng.integers(0, 2, count)),
        "v": pa.array(rng.uniform(0, 10, count)),
    }
    text = (
        "TIME at TYPE kind PATTERN SEQ(A a, B b, C c) WHERE SAME[id] AND POWER(a.v - b.v, 2) * 2 < c.v "
        "WITHIN 40 EVENTS RETURN MATCHES"
    )
    found = run(Stream((text,), columns)).matches[0]
    kind, key, v = (columns[name].to_pylist() for name in ("kind", "id", "v"))
    right = {
        (a, b, c)
        for c in range(count)
        if kind[c] == "C"
        for a in range(max(0, c - 39), c)
        if kind[a] == "A" and key[a] == key[c]
        for b in range(a + 1, c)
        if kind[b] == "B" and key[b] == key[c] and (v[a] - v[b]) ** 2 * 2 < v[c]
    }
    assert found == right and len(right) > 100
