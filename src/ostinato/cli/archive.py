"""`ostinato archive`: writes the installed package with its compiled kernels to a zip for Spark's workers."""

from __future__ import annotations

import argparse
import zipfile

from ostinato.cli.failures import UsageFault
from ostinato.cli.terminal import say
from ostinato.errors import QueryError


def write_package(options: argparse.Namespace) -> int:
    """Writes the zip, and says what is in it."""
    from ostinato.kernels.package_kernels import ENDING
    from ostinato.spark.shipping.package_archive import write_archive

    try:
        path = write_archive(options.file)
    except QueryError as error:
        raise UsageFault(error.code, error.message, hint=error.hint) from None
    except OSError as error:
        raise UsageFault("OUTPUT_FOLDER_MISSING", f"can't write {options.file}: {error.strerror}") from None
    with zipfile.ZipFile(path) as archive:
        kernels = sum(name.endswith(ENDING) for name in archive.namelist())
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {kernels} compiled kernels")
    if not kernels:
        say("workers will compile their kernels; `ostinato warm --package` puts compiled ones into the package")
    return 0
