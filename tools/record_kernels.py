"""Writes `src/ostinato/kernels/signatures.json` from the kernels that a run of the tests has compiled.

    rm -rf .numba_cache/record; mkdir -p -m 700 .numba_cache/record
    NUMBA_CACHE_DIR=$PWD/.numba_cache/record OSTINATO_PACKAGE_KERNELS=off make test
    .venv/bin/python tools/record_kernels.py .numba_cache/record

Kernels that the list already has stay, unless `--anew` is given. Kernels of tests and
benchmarks are left out, and kernels of sources that have changed since.
"""

from __future__ import annotations

import argparse
import json
import pickle
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import ostinato
from ostinato.kernels import signatures
from ostinato.kernels.kernel_cache import KernelCache
from ostinato.kernels.package_kernels import ENDING
from ostinato.kernels.user_kernels import UserKernels

LIST = Path(signatures.__file__).with_suffix(".json")
_SIGNATURE = 3
"""The place of the signature in the reduced form of numba's CompileResult."""


def kernels_of_package() -> dict[str, tuple[str, str]]:
    """The kernels of the package: their names without argument types -> their module and name there."""
    found: dict[str, tuple[str, str]] = {}
    for info in pkgutil.walk_packages(ostinato.__path__, "ostinato."):
        if info.name.endswith("__main__"):
            continue
        for name, value in vars(import_module(info.name)).items():
            cache = getattr(value, "_cache", None)
            if isinstance(cache, KernelCache):
                if cache.stem not in found or value.py_func.__module__ == info.name:  # others import it from there
                    found[cache.stem] = (info.name, name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--anew", action="store_true", help="forget the kernels that the list has")
    options = parser.parse_args()
    known = kernels_of_package()
    entries: dict[str, tuple[int, dict[str, Any]]] = {}
    if LIST.exists() and not options.anew:
        for place, entry in enumerate(json.loads(LIST.read_text())):
            if (entry["module"], entry["name"]) in known.values():
                entries[json.dumps(entry)] = (-place, entry)
    for path in sorted(file for folder in options.folders for file in folder.rglob(f"*{ENDING}")):
        kernel = known.get(path.stem.rpartition("-")[0])
        stored = UserKernels(path.parent).read(path.stem)
        if kernel is None or stored is None or b"benchmarks." in stored:
            continue
        arguments = [signatures.encoded(kind) for kind in pickle.loads(stored)[_SIGNATURE].args]
        entry = {"module": kernel[0], "name": kernel[1], "arguments": arguments}
        entries.setdefault(json.dumps(entry), (len(stored), entry))
    ordered = [entry for _, entry in sorted(entries.values(), key=lambda one: -one[0])]
    LIST.write_text("[\n" + ",\n".join(map(json.dumps, ordered)) + "\n]\n", encoding="utf-8")
    print(f"{len(ordered)} kernels in {LIST}")


if __name__ == "__main__":
    main()
