"""`ostinato archive`: writes the installed package with its compiled kernels to a zip for Spark's workers."""

from __future__ import annotations

import argparse

from ostinato.cli.failures import UsageFault
from ostinato.cli.terminal import say


def write_package(options: argparse.Namespace) -> int:
    """Writes the zip, and says what is in it."""
    from ostinato.kernels.package_kernels import package_kernels
    from ostinato.spark.shipping.package_archive import write_archive

    try:
        path = write_archive(options.file)
    except OSError as error:
        raise UsageFault("OUTPUT_FOLDER_MISSING", f"can't write {options.file}: {error.strerror}") from None
    store = package_kernels()
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {len(store.kernels)} compiled kernels")
    if not store.kernels:
        say(f"workers will compile their kernels: {store.problem}; `ostinato warm --package` first puts them into it")
    return 0
