"""Kernels compile, are found again by later processes, survive damaged files and folders that can't be written."""

import logging
import os
import subprocess
import sys
import textwrap
import zipfile
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest

from ostinato.clause.matching.interpreted_search import search_interpreted
from ostinato.kernels import compile_notice, kernel_cache
from ostinato.kernels.kernel_cache import inline_kernel, interpreted, interpreted_throughout, kernel
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


# --- names: which sources a kernel is made of -------------------------------------------------------------------------


def test_a_fingerprint_changes_when_a_module_behind_the_kernel_is_edited(tmp_path: Path) -> None:
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
    assert {"clause/matching/search.py", "clause/matching/interpreted_search.py"} <= search_interpreted._cache.makers


def test_the_order_of_a_tuples_fields_is_part_of_the_name() -> None:
    """A kernel reads fields by their place, and doesn't have to import the class."""
    before, after = (namedtuple("Tables", fields) for fields in ("label choices", "choices label"))
    kinds = [numba.typeof(made(np.zeros(1), np.zeros(1))) for made in (before, after)]
    names = {sum_of_twice._cache.name((kind,)) for kind in kinds}
    assert len({str(kind) for kind in kinds}) == 1 and len(names) == 2


def test_a_source_that_changes_after_the_import_gets_no_old_code(tmp_path: Path) -> None:
    (tmp_path / "changing.py").write_text(textwrap.dedent(STORED))
    program = """
        import sys, changing
        path = changing.__file__
        if sys.argv[1] == "edit":
            text = open(path).read()
            open(path, "w").write(text.replace("x + 1", "x + 100"))
        print(changing.add_one(1))
    """
    environment = environment_with(SOURCES.parent, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    printed = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), word],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for word in ("edit", "again")
    ]
    assert printed == ["2\n", "101\n"]


def test_storing_is_not_among_the_sources_of_a_kernel() -> None:
    behind = kernel_cache._KERNEL_SOURCES.behind(["clause/matching/search.py"])
    assert "clause/matching/search.py" in behind
    assert not behind & {"kernels/kernel_cache.py", "kernels/user_kernels.py", "kernels/package_kernels.py"}


# --- later processes --------------------------------------------------------------------------------------------------

PROGRAM = """
    import logging
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("ostinato.kernels").setLevel(logging.DEBUG)
    from ostinato.kernels.kernel_cache import used_kernels
    import stored
    answer, used = stored.add_one(41), used_kernels()
    print(answer, *(origin.split()[-1] for origin in used.origins.values()), used.folder)
"""
STORED = """
    from ostinato.kernels.kernel_cache import kernel

    @kernel
    def add_one(x):
        return x + 1
"""
NEEDED = ("errors.py", *(f"kernels/{path.name}" for path in (SOURCES / "kernels").glob("*.py")))


def run_where(tmp_path: Path, *, sources: Path, program: str = PROGRAM, **environment: str) -> tuple[str, str, str]:
    """Starts a fresh process; returns the kernel's answer, where the kernel came from, and the user's folder."""
    (tmp_path / "stored.py").write_text(textwrap.dedent(STORED))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment_with(sources, tmp_path, **environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer, origin, folder = done.stdout.split()
    assert f": {origin}" in done.stderr.replace("user's cache", "cache")  # the debug line
    return answer, origin, folder


def environment_with(*path: Path, **environment: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    return {
        **inherited,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(map(str, path)),
        **environment,
    }


def test_second_process_loads_the_kernel_of_the_first(tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    first = run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)
    second = run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)
    assert first[2].startswith(folder)
    assert (first[:2], second[:2]) == (("42", "compiled"), ("42", "cache"))


@pytest.mark.parametrize("damage", [lambda stored: stored[:-9], lambda stored: b"", lambda stored: b"x" * len(stored)])
def test_a_damaged_kernel_is_compiled_anew(tmp_path: Path, damage: object) -> None:
    folder = str(tmp_path / "cache")
    run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)
    (stored,) = Path(folder).rglob("*.kernel")
    stored.write_bytes(damage(stored.read_bytes()))  # type: ignore[operator]
    origins = [run_where(tmp_path, sources=SOURCES.parent, NUMBA_CACHE_DIR=folder)[1] for _ in range(2)]
    assert origins == ["compiled", "cache"]


def test_home_is_used_by_default_and_the_package_is_left_alone(tmp_path: Path) -> None:
    package = copy_of_package(tmp_path)
    before = sorted(package.rglob("*"))
    answer, origin, folder = run_where(tmp_path, sources=package.parent, HOME=str(tmp_path / "home"))
    assert (answer, origin) == ("42", "compiled")
    assert folder.startswith(str(tmp_path / "home" / ".cache" / "ostinato"))
    assert sorted(package.rglob("*")) == before


@pytest.mark.parametrize("home", ["/dev/null", "", "relative"])
def test_temporary_folder_is_used_when_home_cannot_be(tmp_path: Path, home: str) -> None:
    (tmp_path / "scratch").mkdir()
    scratch = str(tmp_path / "scratch")
    answer, _, folder = run_where(tmp_path, sources=SOURCES.parent, HOME=home, TMPDIR=scratch)
    assert folder.startswith(scratch) or home == ""  # without HOME, Python looks the user's home up
    assert answer == "42"


def test_a_process_compiles_where_nothing_can_be_written(tmp_path: Path) -> None:
    program = """
        import tempfile
        tempfile.gettempdir = lambda: "/dev/null"
    """
    program = textwrap.dedent(program) + textwrap.dedent(PROGRAM)
    answer, origin, folder = run_where(tmp_path, sources=SOURCES.parent, program=program, HOME="/dev/null")
    assert (answer, origin, folder) == ("42", "compiled", "None")


def copy_of_package(tmp_path: Path) -> Path:
    """The part of the package that makes and stores kernels."""
    package = tmp_path / "sources" / "ostinato"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in NEEDED:
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text((SOURCES / name).read_text())
    return package


def test_kernels_of_a_zip_are_stored_too(tmp_path: Path) -> None:
    """Workers that got a zip would compile for ever otherwise."""
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("ostinato/__init__.py", "")
        archive.writestr("ostinato/engines/__init__.py", "")
        archive.writestr("ostinato/engines/stored.py", textwrap.dedent(STORED))
        for name in NEEDED:
            archive.write(SOURCES / name, f"ostinato/{name}")
    program = PROGRAM.replace("import stored", "from ostinato.engines import stored")
    runs = [run_where(tmp_path, sources=package, program=program, HOME=str(tmp_path / "home")) for _ in range(2)]
    assert [run[:2] for run in runs] == [("42", "compiled"), ("42", "cache")]
    assert runs[0][2].startswith(str(tmp_path / "home" / ".cache" / "ostinato"))


def test_processes_side_by_side_compile_once(tmp_path: Path) -> None:
    (tmp_path / "stored.py").write_text(textwrap.dedent(STORED))
    environment = environment_with(SOURCES.parent, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    origins = [process.communicate()[0].split()[1] for process in running]
    assert sorted(origins) == ["cache", "cache", "cache", "compiled"]
    assert not list((tmp_path / "cache").rglob("*.lock"))


def test_a_function_without_a_file_is_compiled_in_each_process() -> None:
    names: dict[str, object] = {"kernel": kernel}
    exec(compile("def add_one(x): return x + 1\nmade = kernel(add_one)", "<notebook>", "exec"), names)
    assert names["made"](41) == 42  # type: ignore[operator]
    assert not any("notebook" in name for name in kernel_cache.origins)


def test_functions_with_different_closures_are_different_kernels() -> None:
    """Two kernels of one source line: a name that ignores the values that they close over would mix them up."""

    def made(step: object) -> object:
        @kernel
        def stepped(x: int) -> int:
            return step(x)  # type: ignore[operator]

        return stepped

    one, two = (made(inline_kernel(step)) for step in (lambda x: x + 1, lambda x: x + 2))
    assert (one(40), two(40)) == (41, 42)  # type: ignore[operator]


# --- what the user is told --------------------------------------------------------------------------------------------


def test_a_long_compilation_is_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_notice, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(compile_notice, "_told", compile_notice.threading.Event())
    with caplog.at_level(logging.WARNING, "ostinato.kernels"):
        for name in ("search.search_plain-12ab-34cd", "search.search_interpreted-12ab-34cd"):
            compiling = compile_notice.Compiling(name)
            if compiling._timer.ident is not None:  # the second one isn't started
                compiling._timer.join()
            assert compiling.end() >= 0
    (message,) = caplog.messages
    assert "search.search_plain" in message and "12ab" not in message
    assert "ostinato warm" in message and "60 s" in message


def test_a_short_compilation_is_not_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_notice, "_PATIENCE_SECONDS", 3600.0)
    monkeypatch.setattr(compile_notice, "_told", compile_notice.threading.Event())
    compiling = compile_notice.Compiling("search.search_plain-12ab-34cd")
    compiling.end()
    compiling._timer.join()
    assert not caplog.messages


@inline_kernel
def factorial(number: int) -> int:
    return 1 if number < 2 else number * factorial(number - 1)


@inline_kernel
def sum_of_factorials(values: np.ndarray) -> int:
    total = 0
    for value in values:
        total += factorial(value)
    return total


def test_a_kernel_and_those_that_it_calls_run_as_python() -> None:
    assert interpreted_throughout(sum_of_factorials)(np.array([3, 4])) == 30
    assert interpreted_throughout(sum_of_factorials) is interpreted_throughout(sum_of_factorials)
    assert not sum_of_factorials.signatures and not factorial.signatures  # nothing was compiled
