"""The kernels of this package and the argument types that queries call them with, as a list in `signatures.json`.

numba compiles a kernel for the types of its first call. The list names all kernels and types beforehand, so that they
can be compiled without a query. `tools/record_kernels.py` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from numba import from_dtype, types
from numpy import dtype

Encoded = Any
"""A type as JSON: "int64", or a list whose first item says what it is."""

_NAME = "signatures.json"


_CLAUSE = ("ostinato.clause.", "ostinato.rows.", "ostinato.slices.")


class Signature(NamedTuple):
    """A kernel, as the module and the name that it has there, and its argument types."""

    module: str
    name: str
    arguments: tuple[Encoded, ...]

    @property
    def is_of_clauses(self) -> bool:
        """Whether MATCH_RECOGNIZE calls it."""
        return self.module.startswith(_CLAUSE)

    def kernel(self) -> Any:
        return getattr(import_module(self.module), self.name)

    def types(self) -> tuple[Any, ...]:
        """The argument types as numba's."""
        return tuple(decoded(argument) for argument in self.arguments)

    def compile(self) -> None:
        """Compiles the kernel, unless a store has it."""
        kernel, kinds = self.kernel(), self.types()
        if not kernel._cache.is_stored(kinds):
            kernel.compile(kinds)


def listed() -> list[Signature]:
    """All kernels with their types, those that compile longest first."""
    entries = json.loads((files("ostinato.kernels") / _NAME).read_bytes())
    return [Signature(entry["module"], entry["name"], tuple(entry["arguments"])) for entry in entries]


def stored() -> tuple[int, int]:
    """How many of the listed kernels a store has, and how many are listed. None is loaded."""
    signatures = listed()
    return sum(one.kernel()._cache.is_stored(one.types()) for one in signatures), len(signatures)


def encoded(kind: Any) -> Encoded:
    """A type of numba as JSON. Raises TypeError for types that no kernel takes.

    >>> encoded(types.Array(types.int64, 1, "C", readonly=True))
    ['array', 'int64', 1, 'C', 'readonly']
    """
    match kind:
        case types.Array():
            access = "writable" if kind.mutable else "readonly"
            return ["array", str(dtype(kind.dtype.name)), kind.ndim, kind.layout, access]
        case types.BaseNamedTuple():
            made = kind.instance_class
            return ["tuple", f"{made.__module__}:{made.__qualname__}", *map(encoded, kind.types)]
        case types.Tuple() if not kind.types:
            return ["nothing"]
        case types.Boolean() | types.Integer() | types.Float():
            return str(kind)
    raise TypeError(f"no kernel takes {kind}")


def decoded(written: Encoded) -> Any:
    """The type of numba.

    >>> decoded(["array", "int64", 1, "C", "readonly"])
    Array(int64, 1, 'C', True, aligned=True)
    """
    if isinstance(written, str):
        return getattr(types, written if written != "bool" else "boolean")
    what, *parts = written
    if what == "nothing":
        return types.Tuple(())
    if what == "array":
        name, dimensions, layout, access = parts
        return types.Array(from_dtype(dtype(name)), dimensions, layout, readonly=access == "readonly")
    module, _, name = parts[0].partition(":")
    fields: Sequence[Any] = [decoded(part) for part in parts[1:]]
    return types.BaseTuple.from_types(fields, getattr(import_module(module), name))
