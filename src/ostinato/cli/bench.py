"""`ostinato bench`: the benchmarks of a checkout, in a process of their own."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import ostinato
from ostinato.errors import EnvironmentFault


def run_benchmarks(options: argparse.Namespace) -> int:
    """Run `python -m benchmarks ...`; its exit code is ours."""
    checkout = find_checkout([Path.cwd(), Path(ostinato.__file__).resolve().parents[2]])
    return subprocess.call([sys.executable, "-m", "benchmarks", *options.arguments], cwd=checkout)


def find_checkout(folders: list[Path]) -> Path:
    """The first of the folders that has the benchmarks. They aren't part of the package: they bring data and rivals."""
    for folder in folders:
        if (folder / "benchmarks" / "__main__.py").is_file():
            return folder
    raise EnvironmentFault(
        "BENCHMARKS_MISSING",
        "the benchmarks are not here: they come with a checkout of the project, not with the installed package",
        hint="clone the project and run `make bench` there",
    )
