"""RunProgram + the columns of a batch -> ConditionArrays: the arrays that the kernel reads."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.expressions import types as t
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.run_conditions.run_registers import ConditionArrays
from ostinato.expressions.syntax import Expr
from ostinato.expressions.values.vectors import Vector

Column = Callable[[Expr], Vector]
"""The values of an expression over one row, for all rows of the batch."""


def tie_to_columns(
    program: RunProgram, condition_of_state: Sequence[int], label_of_state: NDArray[np.int32], rows: int, column: Column
) -> ConditionArrays:
    """The arrays for one batch of `rows` rows."""
    vectors = [column(use.operand).expanded(rows) for use in program.columns]
    ranks = _Ranks(program, vectors)
    whole: list[NDArray[np.int64]] = []
    real: list[NDArray[np.float64]] = []
    valid: list[NDArray[np.bool_]] = []
    value_row, validity_row = [], []
    for use, vector in zip(program.columns, vectors, strict=True):
        if use.store in ("real", "hash"):
            value_row.append(len(real))
            real.append(_hashes(vector.values) if use.store == "hash" else np.asarray(vector.values, np.float64))
        else:
            value_row.append(len(whole))
            whole.append(ranks.of(vector) if use.store == "rank" else np.asarray(vector.values, np.int64))
        has_nulls = vector.valid is not None and not vector.valid.all()
        validity_row.append(len(valid) if has_nulls else -1)
        if has_nulls and vector.valid is not None:
            valid.append(vector.valid)
    return ConditionArrays(
        code=np.array(program.code, np.int64).reshape(-1, 4),
        first=np.array(program.first, np.int64),
        entry=np.array(program.entry, np.int64),
        condition_of_state=np.array(condition_of_state, np.int64),
        whole=_stacked(whole, rows, np.int64),
        real=_stacked(real, rows, np.float64),
        value_row=np.array(value_row, np.int64),
        valid=_stacked(valid, rows, np.bool_),
        validity_row=np.array(validity_row, np.int64),
        reals=np.array(program.reals, np.float64),
        texts=ranks.constants,
        label_rank=ranks.labels,
        label_of_state=label_of_state,
        keep=np.array([int(register.keep) for register in program.registers], np.int64),
        source=np.array([register.source for register in program.registers], np.int64),
        member=np.array(
            [
                [register.rows is None or name in register.rows for name in program.variables]
                for register in program.registers
            ],
            np.bool_,
        ).reshape(len(program.registers), len(program.variables)),
        total=np.array([int(accumulator.total) for accumulator in program.accumulators], np.int64),
        total_column=np.array([accumulator.columns for accumulator in program.accumulators], np.int64).reshape(
            len(program.accumulators), len(program.variables)
        ),
    )


def _stacked(arrays: list[NDArray], rows: int, dtype: type) -> NDArray:  # type: ignore[type-arg]
    return np.ascontiguousarray(np.stack(arrays)) if arrays else np.zeros((0, rows), dtype)


def _hashes(texts: pa.Array) -> NDArray[np.float64]:
    """A number for each text that is the same in every process."""
    encoded = texts.dictionary_encode()
    numbers = [zlib.crc32(text.encode()) for text in encoded.dictionary.to_pylist()]
    positions = pc.fill_null(encoded.indices, len(numbers)).to_numpy(zero_copy_only=False)
    hashes: NDArray[np.float64] = np.array([*numbers, 0], np.float64)[positions]
    return hashes


class _Ranks:
    """Ranks of values that can only be compared, among all values of the batch and the query's constants."""

    def __init__(self, program: RunProgram, vectors: Sequence[Vector]) -> None:
        self.sorted: dict[str, pa.Array] = {}
        self.wide: dict[str, dict[int, int]] = {}
        """By type of decimals beyond 18 digits: the rank of each unscaled value."""
        by_type: dict[str, list[pa.Array]] = {"string": [pa.array(program.variables, t.STRING)]}
        kinds: dict[str, pa.DataType] = {"string": t.STRING}
        for use, vector in zip(program.columns, vectors, strict=True):
            if use.store == "rank" and t.is_decimal(use.type):
                values = self.wide.setdefault(str(use.type), {})
                values.update(dict.fromkeys(value for value in vector.values if value is not None))
            elif use.store == "rank":
                by_type.setdefault(str(use.type), []).append(pc.unique(vector.values))
                kinds[str(use.type)] = use.type
        for name, value in program.texts:
            by_type.setdefault(name, []).append(pa.array([value], kinds.get(name)))
        for name, arrays in by_type.items():
            values = pc.drop_null(pc.unique(pa.concat_arrays([array.cast(arrays[0].type) for array in arrays])))
            self.sorted[name] = values.take(pc.sort_indices(values)) if len(values) > 1 else values
        for name, values in self.wide.items():
            self.wide[name] = {value: rank for rank, value in enumerate(sorted(values))}
        self.constants = np.array(
            [
                self._rank(self.sorted[name], pa.array([value], self.sorted[name].type))[0]
                for name, value in program.texts
            ],
            np.int64,
        )
        self.labels = self._rank(self.sorted["string"], pa.array(program.variables, t.STRING))

    def of(self, vector: Vector) -> NDArray[np.int64]:
        if t.is_decimal(vector.type):
            ranks = self.wide[str(vector.type)]
            return np.array([ranks.get(value, 0) for value in vector.values], np.int64)
        return self._rank(self.sorted[str(vector.type)], vector.values)

    @staticmethod
    def _rank(ordered: pa.Array, values: pa.Array) -> NDArray[np.int64]:
        positions = pc.fill_null(pc.index_in(values, ordered), 0)
        ranks: NDArray[np.int64] = positions.to_numpy(zero_copy_only=False).astype(np.int64)
        return ranks
