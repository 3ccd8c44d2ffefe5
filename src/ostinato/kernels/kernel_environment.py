"""The environment that compiled code depends on: Python, numba, llvmlite, the system, and the CPU."""

from __future__ import annotations

import functools
import platform
import sys
from typing import NamedTuple

import llvmlite
import numba
from llvmlite import binding


class Target(NamedTuple):
    """A CPU that kernels are compiled for, in LLVM's words: its name, and the features that it has."""

    cpu: str
    features: frozenset[str]


_X86 = Target("x86-64-v2", frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}))
_ARM = Target("generic", frozenset())
_PORTABLE = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


def versions() -> dict[str, str]:
    """The versions that must be the same where a kernel is compiled and where it runs."""
    return {
        "python": f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": binding.get_process_triple(),
    }


def portable_target() -> Target | None:
    """The target whose code runs on nearly every machine of this architecture; None if we know of none."""
    return _PORTABLE.get(platform.machine().lower())


def cpu_name() -> str:
    """LLVM's name of this machine's CPU."""
    return str(binding.get_host_cpu_name())


@functools.cache
def cpu_features() -> frozenset[str]:
    """The features of this machine's CPU."""
    try:
        return frozenset(name for name, is_there in binding.get_host_cpu_features().items() if is_there)
    except RuntimeError:  # LLVM doesn't know this CPU
        return frozenset()
