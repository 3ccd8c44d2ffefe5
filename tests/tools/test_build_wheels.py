"""The wheels: what is in them, and that the one for this platform needs no compiler, unpacked or as a zip."""

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from tools import build_wheels

PROGRAM = """
    import logging
    import pyarrow as pa
    import ostinato as ost
    from ostinato.kernels.kernel_cache import used_kernels

    rides = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "speed": [9, 8, 7]})
    clause = "ORDER BY ts MEASURES count(*) AS n PATTERN (A B+) DEFINE B AS speed < PREV(speed)"
    trips = ost.events("PATTERN SEQ(A, B+) RETURN COUNT(*) AS trips", type="kind", time="ts")
    assert ost.match(clause, rides).to_pylist() == [{"n": 3}]
    assert [int(row["trips"]) for row in ost.match(trips, rides).to_pylist()] == [3]
    print(ost.__file__, *sorted(set(used_kernels().origins.values())))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The pure wheel, and the one for this platform."""
    folder = tmp_path_factory.mktemp("wheels")
    # The user's own cache: `make kernels` has compiled there what the wheel needs.
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, build_wheels.__file__, str(folder)]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    (pure,) = folder.glob("*-py3-none-any.whl")
    (compiled,) = set(folder.glob("*.whl")) - {pure}
    return pure, compiled


@pytest.mark.slow
def test_both_wheels(wheels: tuple[Path, Path], tmp_path: Path) -> None:
    pure, compiled = wheels
    assert f"cp{sys.version_info.major}{sys.version_info.minor}-none-" in compiled.name
    assert not [name for name in zipfile.ZipFile(pure).namelist() if "kernels/compiled" in name]
    kernels = [name for name in zipfile.ZipFile(compiled).namelist() if name.endswith(".kernel")]
    assert len(kernels) > 50 and "ostinato/kernels/compiled/manifest.json" in zipfile.ZipFile(compiled).namelist()
    zipfile.ZipFile(compiled).extractall(tmp_path / "installed")
    for path in (tmp_path / "installed", compiled):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(tmp_path / "empty")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0].startswith(str(path))
        assert done.stdout.split()[1:] == ["package"]
    assert not list((tmp_path / "empty").rglob("*.kernel"))


def wheel_with(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "ostinato-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ostinato/__init__.py", content)
    return path


def test_a_wheel_that_names_a_folder_of_the_machine_is_refused(tmp_path: Path) -> None:
    build_wheels.check(wheel_with(tmp_path, b"plain"), (str(tmp_path),))
    with pytest.raises(SystemExit, match="names the folder"):
        build_wheels.check(wheel_with(tmp_path, str(tmp_path).encode()), (str(tmp_path),))


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="more than 15,000,000"):
        build_wheels.check(wheel_with(tmp_path, os.urandom(15_000_001)), ())
