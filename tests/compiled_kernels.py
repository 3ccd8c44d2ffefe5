"""Lists the kernels of the package that tests have compiled, in this process, in others, and in Spark's workers.

The package brings compiled kernels, and tests have a user's cache of their own. A kernel of the package that is in that
cache was compiled by a test.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".numba_cache" / "tests"


def use_own_cache() -> None:
    """Call it before numba is imported."""
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))


def compiled_in(folder: Path) -> Iterator[str]:
    """The names of kernels of the package in its present state that are stored in the folder."""
    stems = {stem for stem, _ in _listed_kernels()}
    for path in folder.rglob("*.kernel"):
        if path.stem.rpartition("-")[0] in stems:
            yield path.stem


def unlisted_in(folder: Path) -> list[str]:
    """Those of them whose argument types aren't in `signatures.json`, apart from types of the benchmarks."""
    listed = {name for _, name in _listed_kernels()}
    paths = {path.stem: path for path in folder.rglob("*.kernel")}
    return sorted(name for name in set(compiled_in(folder)) - listed if b"benchmarks." not in paths[name].read_bytes())


@functools.cache
def _listed_kernels() -> list[tuple[str, str]]:
    """The name of each kernel without and with its argument types."""
    from ostinato.kernels.signatures import listed

    caches = ((signature, signature.kernel()._cache) for signature in listed())
    return [(cache.stem, cache.name(signature.types())) for signature, cache in caches]
