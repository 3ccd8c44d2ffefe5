"""Builds two wheels from a copy of the last commit: a pure one, and one with kernels compiled for this platform.

    python tools/build_wheels.py dist

The kernels are those for every CPU of this architecture, and for the Python, numba and llvmlite that run this program.
For another platform or Python, run it there. The links of the README become absolute, once pyproject.toml has a base
address (`tools/absolute_links.py`).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
LARGEST_BYTES = 15_000_000
_OLDEST_GLIBC = "2_17"
"""Kernels call nothing of the C library that is newer. numba's own wheels need at least this."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ostinato-wheel-") as temporary:
        copy = Path(temporary)
        copy_of_last_commit(copy)
        built = [build(copy, folder)]
        _run("-m", "ostinato.cli", "warm", "--package", path=copy / "src")
        built.append(build(copy, folder, *platform_tags()))
        for wheel in built:
            check(wheel, (str(copy), str(CHECKOUT), str(Path.home()) + os.sep))
            print(f"{wheel.stat().st_size / 1e6:5.1f} MB  {wheel}")


def copy_of_last_commit(folder: Path) -> None:
    """The files of the last commit, with the README as a wheel shows it."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    _run("tools/absolute_links.py", "README.md", folder=folder)


def platform_tags() -> tuple[str, str]:
    """The tags of a wheel for this Python and this platform: compiled kernels need both."""
    version = sys.version_info
    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if sys.platform == "linux":
        name = f"manylinux_{_OLDEST_GLIBC}_{platform.machine()}"
    return f"cp{version.major}{version.minor}", name


def build(copy: Path, folder: Path, python: str = "", name: str = "") -> Path:
    """Builds one wheel, which replaces a file of the same name."""
    tags = [f"--config-settings=--build-option=--python-tag={python} --plat-name={name}"] if name else []
    with tempfile.TemporaryDirectory() as fresh:
        _run(
            "-m",
            "pip",
            "wheel",
            "-qq",
            "--disable-pip-version-check",
            "--no-deps",
            *tags,
            "--wheel-dir",
            fresh,
            str(copy),
        )
        (wheel,) = Path(fresh).glob("*.whl")
        target = folder / wheel.name
        target.write_bytes(wheel.read_bytes())
    return target


def check(wheel: Path, paths: tuple[str, ...]) -> None:
    """Raises if the wheel is too large, or if a file in it names one of the folders."""
    if wheel.stat().st_size > LARGEST_BYTES:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST_BYTES:,}")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            for path in paths:
                if path.encode() in content:
                    raise SystemExit(f"{name} in {wheel.name} names the folder {path}")


def _run(*arguments: str, folder: Path | None = None, path: Path | None = None) -> None:
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else None
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True)


if __name__ == "__main__":
    main()
