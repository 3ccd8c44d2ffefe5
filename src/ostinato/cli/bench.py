"""`ostinato bench`: runs the benchmarks of a checkout in another process."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import ostinato
from ostinato.errors import EnvironmentFault


def run_benchmarks(options: argparse.Namespace) -> int:
    """Runs `python -m benchmarks ...` and returns its exit code."""
    checkout = find_checkout([Path.cwd(), Path(ostinato.__file__).resolve().parents[2]])
    return subprocess.call([sys.executable, "-m", "benchmarks", *options.arguments], cwd=checkout)


def find_checkout(folders: list[Path]) -> Path:
    """The first of the folders that contains the benchmarks. The installed package doesn't contain them."""
    for folder in folders:
        if (folder / "benchmarks" / "__main__.py").is_file():
            return folder
    raise EnvironmentFault(
        "BENCHMARKS_MISSING",
        "there are no benchmarks here: only a checkout of the project has them, not the installed package",
        hint="clone the project and run `make bench` there",
    )
