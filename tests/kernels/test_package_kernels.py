"""The package's own kernels are used only if the manifest fits, and never written by a query."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kernels.test_kernel_cache import STORED, copy_of_package, environment_with

from ostinato.kernels import package_kernels as module
from ostinato.kernels.kernel_environment import Target
from ostinato.kernels.package_kernels import SWITCH, PackageKernels, write_package_kernels

ANY_CPU = Target("generic", frozenset())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_package_kernels({"a": b"code", "b": b"more"}, ANY_CPU, tmp_path / "compiled")
    return tmp_path / "compiled"


def edited(folder: Path, **entries: Any) -> PackageKernels:
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **entries}))
    return PackageKernels(folder)


def test_kernels_that_fit_are_read(folder: Path) -> None:
    store = PackageKernels(folder)
    assert store.problem is None
    assert (store.read("a"), store.read("b"), store.read("c")) == (b"code", b"more", None)


@pytest.mark.parametrize(
    ("entry", "value", "problem"),
    [
        ("format", "0", "format 0, and this is 1"),
        ("python", "cpython 2.7", "compiled for python cpython 2.7"),
        ("numba", "0.1", "compiled for numba 0.1"),
        ("llvmlite", "0.1", "compiled for llvmlite 0.1"),
        ("system", "wasm32", "compiled for system wasm32"),
        ("features", ["sse9"], "need a CPU with sse9"),
        ("features", 5, "manifest is damaged"),
        ("kernels", [], "manifest is damaged"),
        ("cpu", None, None),
    ],
)
def test_a_manifest_that_does_not_fit(folder: Path, entry: str, value: Any, problem: str | None) -> None:
    store = edited(folder, **{entry: value})
    assert (store.problem is None) if problem is None else (problem in str(store.problem))
    assert store.read("a") == (b"code" if problem is None else None)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe"])
def test_a_damaged_manifest(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    store = PackageKernels(folder)
    assert store.problem == "their manifest is damaged"
    assert store.read("a") is None


def test_a_package_without_kernels(tmp_path: Path) -> None:
    assert PackageKernels(tmp_path / "nothing").problem == "this installation brings none"


def test_a_file_that_is_not_the_one_in_the_manifest_is_ignored(folder: Path) -> None:
    (folder / "a.kernel").write_bytes(b"cod")
    (folder / "planted.kernel").write_bytes(b"code")
    store = PackageKernels(folder)
    assert (store.read("a"), store.read("planted"), store.read("../compiled/b")) == (None, None, None)


def test_the_switch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    store = PackageKernels(folder)
    assert "switched off" in str(store.problem)
    assert store.read("a") is None


def test_the_manifest_names_no_folder(folder: Path, tmp_path: Path) -> None:
    assert str(tmp_path) not in (folder / "manifest.json").read_text()
    assert str(Path(module.__file__).parents[3]) not in (folder / "manifest.json").read_text()


# --- in processes of their own ----------------------------------------------------------------------------------------

PROGRAM = """
    from ostinato.kernels.kernel_cache import used_kernels
    from ostinato import stored
    stored.add_one(41)
    print(*used_kernels().origins.values())
"""
PUT_INTO_PACKAGE = """
    from pathlib import Path
    from ostinato.kernels.kernel_cache import used_kernels
    from ostinato.kernels.kernel_environment import Target
    from ostinato.kernels.package_kernels import write_package_kernels
    from ostinato.kernels.user_kernels import UserKernels
    from ostinato import stored
    stored.add_one(41)
    used = used_kernels()
    contents = {name: UserKernels(used.folder).read(name) for name in used.origins}
    write_package_kernels(contents, Target("generic", frozenset()), Path(stored.__file__).parent / "kernels/compiled")
"""


def origin(tmp_path: Path, sources: Path, home: str, program: str = PROGRAM, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment_with(sources, HOME=str(tmp_path / home), **environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with one compiled kernel. Its kernel was compiled under another path."""
    tmp_path = tmp_path_factory.mktemp("made")
    made = copy_of_package(tmp_path)
    (made / "stored.py").write_text(textwrap.dedent(STORED))
    portable = {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""} if sys.platform == "linux" else {}
    origin(tmp_path, made.parent, "home", PUT_INTO_PACKAGE, **portable)
    moved = tmp_path / "elsewhere"
    made.parent.rename(moved)
    return moved / "ostinato"


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_process_loads_the_kernel_of_the_package(tmp_path: Path, package: Path) -> None:
    before = content_of(package)
    assert origin(tmp_path, package.parent, "home") == "package"
    assert content_of(package) == before
    assert not list((tmp_path / "home").rglob("*.kernel"))


def spoil_manifest(package: Path) -> None:
    (package / "kernels/compiled/manifest.json").write_text("{")


def spoil_kernel(package: Path) -> None:
    (kernel,) = package.rglob("*.kernel")
    kernel.write_bytes(kernel.read_bytes()[:100])


def other_numba(package: Path) -> None:
    edited(package / "kernels/compiled", numba="0.1")


def other_cpu(package: Path) -> None:
    edited(package / "kernels/compiled", features=["sse9"])


def edit_source(package: Path) -> None:
    path = package / "stored.py"
    path.write_text(path.read_text() + "\n# edited\n")


@pytest.mark.parametrize("spoil", [spoil_manifest, spoil_kernel, other_numba, other_cpu, edit_source])
def test_kernels_that_do_not_fit_are_compiled_for_the_user(
    tmp_path: Path, package: Path, spoil: Callable[[Path], None]
) -> None:
    copy = tmp_path / "sources" / "ostinato"
    copy.parent.mkdir()
    subprocess.run(["cp", "-r", package, copy], check=True)
    spoil(copy)
    before = content_of(copy)
    assert [origin(tmp_path, copy.parent, "home") for _ in range(2)] == ["compiled", "user's cache"]
    assert content_of(copy) == before


def test_no_home_is_needed(tmp_path: Path, package: Path) -> None:
    assert origin(tmp_path, package.parent, "missing/home", TMPDIR="/dev/null") == "package"
