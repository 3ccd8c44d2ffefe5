"""`ostinato warm`: compiles every kernel that is not on disk yet, so that no query waits for the compiler.

The list of kernels and their argument types is `kernels/signatures.json`. With `--package`, the compiled kernels become
part of the package: that is how wheels and images get them.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import ostinato
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.terminal import say
from ostinato.errors import EnvironmentFault

if TYPE_CHECKING:
    from ostinato.kernels.kernel_cache import UsedKernels
    from ostinato.kernels.kernel_environment import Target
    from ostinato.kernels.signatures import Signature


def warm(options: argparse.Namespace) -> int:
    """Compiles every kernel that isn't on disk yet, and says where they are."""
    import numba

    from ostinato.kernels.kernel_cache import COMPILED, FROM_PACKAGE, FROM_USER
    from ostinato.kernels.signatures import listed

    if numba.config.DISABLE_JIT:
        raise EnvironmentFault(
            "NO_COMPILED_KERNELS", "NUMBA_DISABLE_JIT is set, so nothing is compiled", hint="unset NUMBA_DISABLE_JIT"
        )
    began = time.monotonic()
    with progress_on_stderr()("compiling kernels (up to two minutes on two cores)"):
        chosen = [signature for signature in listed() if signature.is_of_clauses or not options.clauses]
        warmed = _into_package(chosen) if options.package else make_kernels(chosen)
    counts = Counter(warmed.origins.values())
    seconds = time.monotonic() - began
    words = {FROM_PACKAGE: "from the package", FROM_USER: "from the user's cache", COMPILED: "compiled now"}
    shares = ", ".join(f"{count} {words[origin]}" for origin, count in sorted(counts.items()))
    say(f"{len(warmed.origins)} kernels in {seconds:.0f} s: {shares}")
    if options.package:
        say("all of them are in the package now")
    elif warmed.folder is not None:
        say(f"compiled kernels are kept in {warmed.folder}")
    return 0


def make_kernels(chosen: Sequence[Signature]) -> UsedKernels:
    """Compiles the kernels that no store has, in as many processes as there are cores."""
    from ostinato.kernels.kernel_cache import COMPILED, UsedKernels

    origins: dict[str, str] = {}
    folder = None
    with ProcessPoolExecutor(_cores(), mp_context=get_context("spawn"), initializer=_be_quiet) as processes:
        for done in processes.map(_make, chosen):
            folder = done.folder
            # A kernel that another process compiled is loaded here as a part of others: it counts as compiled.
            origins |= {name: origin for name, origin in done.origins.items() if origins.get(name) != COMPILED}
    return UsedKernels(origins, folder)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _be_quiet() -> None:
    logging.getLogger("ostinato.kernels").setLevel(logging.ERROR)  # the command shows its own progress


def _make(signature: Signature) -> UsedKernels:
    from ostinato.kernels.kernel_cache import used_kernels

    signature.compile()
    return used_kernels()


def _into_package(chosen: Sequence[Signature]) -> UsedKernels:
    """Compiles kernels for a portable CPU, and makes the files part of the package. Others that it has stay there."""
    from ostinato.kernels.kernel_environment import portable_target
    from ostinato.kernels.package_kernels import FOLDER, PackageKernels, write_package_kernels
    from ostinato.kernels.signatures import listed
    from ostinato.kernels.user_kernels import UserKernels

    target = portable_target()
    folder = Path(ostinato.__file__).parent / "kernels" / FOLDER
    if target is None:
        raise _not_possible("no portable CPU is known for this machine")
    try:
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _not_possible(f"its folder can't be written ({error.strerror})") from None
    with _environment(_settings_for(target)):
        warmed = make_kernels(chosen)
    if warmed.folder is None:
        raise _not_possible("no other folder can be written by this user alone")
    before, store = PackageKernels(folder), UserKernels(warmed.folder)
    others = {name: before.read(name) for name in before.kernels if len(chosen) < len(listed())}
    contents = others | {name: store.read(name) for name in warmed.origins}
    complete = {name: content for name, content in contents.items() if content is not None}
    if len(complete) < len(contents):
        raise _not_possible("compiled kernels couldn't be stored: the disk may be full")
    write_package_kernels(complete, target, folder)
    return warmed


def _not_possible(reason: str) -> EnvironmentFault:
    return EnvironmentFault(
        "NO_COMPILED_KERNELS",
        f"kernels can't be put into the package: {reason}",
        hint="`ostinato warm` without --package compiles them for this machine and this user",
    )


def _settings_for(target: Target) -> dict[str, str]:
    """The environment of processes that compile for another CPU. The user's cache keeps those kernels apart."""
    from ostinato.kernels.package_kernels import SWITCH

    usual = {"NUMBA_OPT": "3", "NUMBA_BOUNDSCHECK": "0"}
    return {"NUMBA_CPU_NAME": target.cpu, "NUMBA_CPU_FEATURES": "", **usual, SWITCH: "off"}


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
