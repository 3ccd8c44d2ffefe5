"""The user's store: which folder it takes, what it forgets, and which folders it doesn't trust."""

import os
import tempfile
from pathlib import Path

import pytest

from ostinato.errors import OstinatoWarning
from ostinato.kernels import user_kernels as module
from ostinato.kernels.user_kernels import UserKernels, user_kernels

TARGET = ("x86_64-linux", "some-cpu", "+sse2")
OTHER = ("x86_64-linux", "other-cpu", "+sse2")


def opened(target: tuple[str, ...] = TARGET) -> UserKernels:
    store = user_kernels.__wrapped__(target)
    assert store is not None
    return store


def test_targets_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    opened().write("a", b"code")
    assert opened().read("a") == b"code"
    assert opened(OTHER).read("a") is None
    assert len(list(tmp_path.iterdir())) == 2


def test_what_nobody_used_for_two_weeks_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    store = opened()
    for name in ("old", "recent"):
        (tmp_path / f"kernels-{name}").mkdir()
        store.write(name, b"code")
    for path in (tmp_path / "kernels-old", store.folder / "old.kernel"):
        os.utime(path, (0, 0))
    opened()
    assert {folder.name for folder in tmp_path.iterdir()} == {"kernels-recent", store.folder.name}
    assert [path.name for path in store.folder.iterdir()] == ["recent.kernel"]


def test_a_kernel_that_is_read_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    store = opened()
    store.write("used", b"code")
    os.utime(store.folder / "used.kernel", (0, 0))
    store.read("used")
    assert opened().read("used") == b"code"


def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    UserKernels(tmp_path / "missing").write("a", b"code")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("chosen", ["open", "relative"])
def test_an_unsafe_folder_is_passed_over_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "open") if chosen == "open" else ".numba_cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(module, "_warned", set())
    with pytest.warns(OstinatoWarning, match="aren't kept in .*NUMBA_CACHE_DIR to an absolute folder") as caught:
        folders = [opened(target).folder for target in (TARGET, OTHER)]
    assert len(caught) == 1
    assert {folder.parent.parent for folder in folders} == {tmp_path / "scratch"}
    assert not any((tmp_path / "open").iterdir())
