"""Kernels compile, survive folders that can't be written, and don't leak settings into the caller's numba."""

import os
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

import numba
import numpy as np
import pytest

from ostinato.clause.matching.interpreted_search import search_interpreted
from ostinato.errors import OstinatoWarning
from ostinato.kernels import kernel_cache
from ostinato.kernels.kernel_cache import inline_kernel, interpreted, kernel, prepare_numba_cache
from ostinato.kernels.kernel_sources import KernelSources

SOURCES = Path(kernel_cache.__file__).parents[1]


@inline_kernel
def twice(x: float) -> float:
    return 2 * x


@kernel
def sum_of_twice(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += twice(value)
    return total


@kernel
def item(values: np.ndarray, index: int) -> float:
    return values[index]


@pytest.mark.kernel
def test_kernel_compiled_and_interpreted_agree() -> None:
    values = np.arange(5.0)
    assert sum_of_twice(values) == 20.0
    assert interpreted(sum_of_twice)(values) == 20.0
    assert interpreted(sum_of_twice) is not sum_of_twice


@pytest.mark.kernel
@pytest.mark.skipif(not numba.config.BOUNDSCHECK, reason="only in the tier with NUMBA_BOUNDSCHECK=1")
def test_bounds_are_checked_on_request() -> None:
    with pytest.raises(IndexError):
        item(np.arange(3.0), 3)


def test_division_by_zero_follows_numpy() -> None:
    @kernel
    def divide(a: float, b: float) -> float:
        return a / b

    assert divide(1.0, 0.0) == np.inf


def test_numba_of_the_caller_is_left_alone() -> None:
    before = numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")
    kernel(lambda x: x + 1)
    assert (numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")) == before


def test_old_folders_go_and_recent_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in ("kernels-old", "kernels-recent"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "kernels-old", (0, 0))
    chosen = prepare_numba_cache.__wrapped__()
    assert chosen is not None and chosen.parent == tmp_path
    assert {folder.name for folder in tmp_path.iterdir()} == {"kernels-recent", chosen.name}


def test_a_kernel_gets_a_new_folder_when_a_module_behind_it_is_edited(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "engine").mkdir()
    (tmp_path / "unrelated.py").write_text("Y = 1\n")
    (tmp_path / "constants.py").write_text("X = 1\n")
    (tmp_path / "shared" / "numbers.py").write_text("from ostinato.constants import (\n    X,\n)\n")
    (tmp_path / "engine" / "search.py").write_text("from ostinato.shared import numbers\n")

    def fingerprints() -> list[str]:
        return [KernelSources(tmp_path).fingerprint(makers) for makers in (["engine/search.py"], ["constants.py"], [])]

    before = fingerprints()
    (tmp_path / "unrelated.py").write_text("Y = 2\n")
    after_unrelated = fingerprints()
    (tmp_path / "constants.py").write_text("X = 2\n")
    after_constant = fingerprints()
    assert after_unrelated[:2] == before[:2]
    assert not set(after_constant) & {*before, *after_unrelated}
    assert after_unrelated[2] != before[2]  # a kernel from outside may use every module


def test_a_fingerprint_reads_all_modules_that_the_kernel_imports() -> None:
    """The modules that Python loads for a kernel module are among those that its fingerprint reads."""
    program = """
        import sys, ostinato.workloads.matcher.matcher_kernels
        print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("ostinato.")))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": str(SOURCES.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {Path(name).relative_to(SOURCES).as_posix() for name in done.stdout.split()}
    behind = KernelSources(SOURCES).behind(["workloads/matcher/matcher_kernels.py"])
    assert {path for path in loaded if not path.endswith("__init__.py")} <= behind


def test_a_kernel_built_around_functions_of_another_module_depends_on_both() -> None:
    stored = Path(search_interpreted.stats.cache_path)
    alone = prepare_numba_cache(frozenset({"kernels/kernel_cache.py", "clause/matching/search.py"}))
    together = prepare_numba_cache(
        frozenset({"kernels/kernel_cache.py", "clause/matching/search.py", "clause/matching/interpreted_search.py"})
    )
    assert alone is not None and not stored.is_relative_to(alone)
    assert together is not None and stored.is_relative_to(together)


PROGRAM = """
    import ostinato.kernels.kernel_cache as kernel_cache
    folder = kernel_cache.prepare_numba_cache()
    import stored
    print(folder, stored.add_one(41), sum(stored.add_one.stats.cache_hits.values()))
"""
STORED = """
    from ostinato.kernels.kernel_cache import kernel

    @kernel
    def add_one(x):
        return x + 1
"""


NEEDED = (
    "errors.py",
    "kernels/kernel_cache.py",
    "kernels/kernel_sources.py",
    "kernels/private_folders.py",
    "kernels/__init__.py",
)


def run_where(tmp_path: Path, *, sources: Path, program: str = PROGRAM, **environment: str) -> tuple[str, int, int]:
    """Start a fresh process; returns the folder it chose, the kernel's answer, and how often the cache was hit."""
    (tmp_path / "stored.py").write_text(textwrap.dedent(STORED))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{sources}:{tmp_path}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folder, answer, hits = done.stdout.split()
    return folder, int(answer), int(hits)


def package_that_cannot_be_written(tmp_path: Path) -> Path:
    """A copy of the package whose `__pycache__` is a plain file: that stops root as well, unlike permissions."""
    package = tmp_path / "sources" / "ostinato"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in NEEDED:
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text((SOURCES / name).read_text())
    (package / "__pycache__").touch()
    return package.parent


def test_second_process_loads_the_kernel_of_the_first(tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    first = run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)
    second = run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)
    assert first[0].startswith(folder)
    assert (first[1:], second[1:]) == ((42, 0), (42, 1))


def test_home_is_used_when_the_package_cannot_be_written(tmp_path: Path) -> None:
    sources = package_that_cannot_be_written(tmp_path)
    folder, answer, _ = run_where(tmp_path, sources=sources, HOME=str(tmp_path / "home"))
    assert folder.startswith(str(tmp_path / "home" / ".cache" / "ostinato"))
    assert answer == 42


def test_temporary_folder_is_used_when_home_cannot_be_written(tmp_path: Path) -> None:
    sources = package_that_cannot_be_written(tmp_path)
    (tmp_path / "scratch").mkdir()
    folder, answer, _ = run_where(tmp_path, sources=sources, HOME="/dev/null", TMPDIR=str(tmp_path / "scratch"))
    assert folder.startswith(str(tmp_path / "scratch"))
    assert answer == 42


@pytest.mark.parametrize("chosen", ["open", "relative"])
def test_an_unsafe_folder_is_passed_over_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open") if chosen == "open" else ".numba_cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(kernel_cache, "_WARNED", set())
    with pytest.warns(OstinatoWarning, match="aren't kept in .*NUMBA_CACHE_DIR to an absolute folder") as caught:
        folders = [prepare_numba_cache.__wrapped__(makers) for makers in (frozenset(), frozenset({"errors.py"}))]
    assert len(caught) == 1
    assert {folder.parent.parent for folder in folders if folder is not None} == {tmp_path / "scratch"}
    assert not any((tmp_path / "open").iterdir())


def test_numba_never_falls_back_to_a_folder_of_its_own_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(kernel_cache, "prepare_numba_cache", lambda makers=frozenset(): tmp_path / "file" / "kernels")

    @kernel
    def add_one(x: int) -> int:
        return x + 1

    assert add_one(41) == 42
    assert add_one.stats.cache_path is None


def test_kernels_of_a_zip_are_stored_too(tmp_path: Path) -> None:
    """numba stores no kernel whose source isn't a file, and workers that got a zip would compile for ever."""
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("ostinato/__init__.py", "")
        archive.writestr("ostinato/engines/__init__.py", "")
        archive.writestr("ostinato/engines/stored.py", textwrap.dedent(STORED))
        for name in NEEDED:
            archive.write(SOURCES / name, f"ostinato/{name}")
    program = PROGRAM.replace("import stored", "from ostinato.engines import stored")
    runs = [run_where(tmp_path, sources=package, program=program, HOME=str(tmp_path / "home")) for _ in range(2)]
    assert [run[1:] for run in runs] == [(42, 0), (42, 1)]
    assert runs[0][0].startswith(str(tmp_path / "home" / ".cache" / "ostinato"))


def test_kernel_still_compiles_when_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "prepare_numba_cache", lambda makers=frozenset(): None)

    @kernel
    def add_one(x: int) -> int:
        return x + 1

    assert add_one(41) == 42
