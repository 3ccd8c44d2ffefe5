"""The package's own store of compiled kernels: files beside the sources, which a wheel or an archive brings along.

A manifest says what the kernels were compiled for, and names each of them. A name contains hashes of the kernel's
sources and argument types. All of it is checked before anything is loaded: code for another CPU or another numba would
crash. Nothing is written here when a query runs. `write_package_kernels` makes the store.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ostinato.kernels.kernel_environment import Target, cpu_features, versions
from ostinato.kernels.kernel_sources import UNREADABLE

SWITCH = "OSTINATO_PACKAGE_KERNELS"
"""The environment variable that switches this store off."""
FOLDER = "compiled"
ENDING = ".kernel"
_MANIFEST = "manifest.json"
_FORMAT = 1


class PackageKernels:
    """The kernels in a folder, which may be inside a zip. `problem` says why none of them is used, if so."""

    def __init__(self, folder: Traversable) -> None:
        self.folder = folder
        self.kernels: Mapping[str, str] = {}
        self.cpu = ""
        self.problem = self._read_manifest()

    def read(self, name: str) -> bytes | None:
        """The content of a kernel; None if the store doesn't have it, or if its file isn't the one in the manifest."""
        digest = self.kernels.get(name)
        if self.problem is not None or digest is None:
            return None
        try:
            content = self.folder.joinpath(name + ENDING).read_bytes()
        except UNREADABLE:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def _read_manifest(self) -> str | None:
        """Reads the manifest. Returns why the kernels don't fit this process; None if they do."""
        if os.environ.get(SWITCH, "").lower() in ("0", "off", "no"):
            return f"switched off by the environment variable {SWITCH}"
        try:
            manifest = json.loads(self.folder.joinpath(_MANIFEST).read_bytes())
        except UNREADABLE:
            return "this installation brings none"
        except (ValueError, RecursionError):
            return "their manifest is damaged"
        return self._misfit(manifest)

    def _misfit(self, manifest: Any) -> str | None:
        try:
            kernels = {str(name): str(digest) for name, digest in manifest["kernels"].items()}
            features = {str(name) for name in manifest["features"]}
            made_with = {name: str(manifest[name]) for name in ("format", *versions())}
            self.cpu = str(manifest["cpu"])
        except (KeyError, TypeError, AttributeError):
            return "their manifest is damaged"
        for name, here in {"format": str(_FORMAT), **versions()}.items():
            if made_with[name] != here:
                return f"they were compiled for {name} {made_with[name]}, and this is {here}"
        missing = features - cpu_features()
        if missing:
            return f"they need a CPU with {', '.join(sorted(missing))}"
        self.kernels = kernels
        return None


@functools.cache
def package_kernels() -> PackageKernels:
    """The store of this package."""
    return PackageKernels(files("ostinato.kernels") / FOLDER)


def write_package_kernels(kernels: Mapping[str, bytes], target: Target, folder: Path) -> None:
    """Replaces the store in a folder. `kernels`: the content of each kernel by its name.

    Other processes may read it meanwhile: they find old kernels, new ones, or none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in kernels.items():
        _replace(folder / f"{name}{ENDING}", content)
    manifest = {
        "format": str(_FORMAT),
        **versions(),
        "cpu": target.cpu,
        "features": sorted(target.features),
        "kernels": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(kernels.items())},
    }
    _replace(folder / _MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
    for path in folder.glob(f"*{ENDING}"):
        if path.name.removesuffix(ENDING) not in kernels:
            path.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
