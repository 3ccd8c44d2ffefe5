"""A folder is trusted if only this user and root can change its files, its own place and its parents."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.kernels import private_folders
from ostinato.kernels.private_folders import ROOT, Untrusted, make_private

ME, STRANGER = 1234, 4321


class Owners:
    """Owners of files, as the tests say: only root could give files away. Everything else belongs to ME."""

    def __init__(self, base: Path) -> None:
        self.base, self.by_path = base, {}

    def give(self, path: Path, user: int) -> None:
        self.by_path[path] = user

    def status(self, path: Path, status: os.stat_result) -> os.stat_result:
        user = self.by_path.get(path, ME) if path.is_relative_to(self.base) else ROOT
        return os.stat_result((*status[:4], user, *status[5:10]))


@pytest.fixture
def owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Owners:
    owners = Owners(tmp_path)
    real_lstat, real_entries = Path.lstat, private_folders._entries

    class Entry:
        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.path, self.entry = entry.path, entry

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            return owners.status(Path(self.path), self.entry.stat(follow_symlinks=follow_symlinks))

    def entries(folder: Path) -> Iterator[Entry]:
        return map(Entry, real_entries(folder))

    monkeypatch.setattr(Path, "lstat", lambda path: owners.status(path, real_lstat(path)))
    monkeypatch.setattr(private_folders, "_entries", entries)
    return owners


def folder_of(base: Path, *modes: int) -> Path:
    """Nested folders with these modes, whatever the umask."""
    for depth, mode in enumerate(modes):
        base = base / f"level{depth}"
        base.mkdir()
        base.chmod(mode)
    return base


@pytest.mark.parametrize(
    ("modes", "problem"),
    [
        ((0o700,), None),
        ((0o755, 0o700), None),
        ((0o1777, 0o700), None),  # a folder of one's own among temporary files
        ((0o1777, 0o755, 0o700), None),
        ((0o777,), "level0 can be written by every user"),
        ((0o1777,), "level0 can be written by every user"),  # sticky: others still add files of their own
        ((0o777, 0o700), "level0 can be written by every user"),
        ((0o1777, 0o777, 0o700), "level0/level1 can be written by every user"),
        ((0o775,), "level0 can be written by group"),
    ],
)
def test_modes_of_the_folder_and_its_parents(
    tmp_path: Path, owners: Owners, modes: tuple[int, ...], problem: str | None
) -> None:
    folder = folder_of(tmp_path, *modes)
    if problem is None:
        assert make_private(folder, ME) == folder
    else:
        with pytest.raises(Untrusted, match=problem):
            make_private(folder, ME)


@pytest.mark.parametrize("depth", [0, 1])
def test_owners_of_the_folder_and_its_parents(tmp_path: Path, owners: Owners, depth: int) -> None:
    folder = folder_of(tmp_path, 0o755, 0o700)
    foreign = [folder.parent, folder][depth]
    owners.give(foreign, ROOT)
    assert make_private(folder, ME) == folder
    owners.give(foreign, STRANGER)
    with pytest.raises(Untrusted, match=f"{foreign.name} belongs to user {STRANGER}, not to user {ME}"):
        make_private(folder, ME)


def test_a_strangers_folder_among_temporary_files(tmp_path: Path, owners: Owners) -> None:
    folder = folder_of(tmp_path, 0o1777, 0o700)
    owners.give(folder, STRANGER)
    with pytest.raises(Untrusted, match="belongs to user"):
        make_private(folder, ME)


def test_files_that_others_planted_before_the_folder_was_closed(tmp_path: Path, owners: Owners) -> None:
    folder = folder_of(tmp_path, 0o700, 0o755)
    planted = folder / "inside" / "kernel.nbi"
    planted.parent.mkdir()
    planted.touch()
    planted.chmod(0o644)
    assert make_private(folder, ME) == folder
    owners.give(planted, STRANGER)
    with pytest.raises(Untrusted, match=r"kernel\.nbi belongs to user"):
        make_private(folder, ME)


def test_files_that_everyone_may_write_matter_where_others_can_enter(tmp_path: Path, owners: Owners) -> None:
    folder = folder_of(tmp_path, 0o755)
    (folder / "kernel.nbi").touch()
    (folder / "kernel.nbi").chmod(0o666)
    with pytest.raises(Untrusted, match=r"kernel\.nbi can be written by every user"):
        make_private(folder, ME)
    folder.chmod(0o700)
    assert make_private(folder, ME) == folder


def test_links_lead_to_the_folder_that_is_checked_and_used(tmp_path: Path, owners: Owners) -> None:
    safe, open_to_all = folder_of(tmp_path, 0o755, 0o700), tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (tmp_path / "to_safe").symlink_to(safe)
    (tmp_path / "to_open").symlink_to(open_to_all)
    assert make_private(tmp_path / "to_safe", ME) == safe
    with pytest.raises(Untrusted, match="open can be written by every user"):
        make_private(tmp_path / "to_open" / "inner", ME)
    (safe / "kernel.nbc").symlink_to(open_to_all)
    with pytest.raises(Untrusted, match=r"kernel\.nbc is a symbolic link"):
        make_private(safe, ME)


def test_missing_folders_are_made_for_this_user_alone(tmp_path: Path, owners: Owners) -> None:
    before = os.umask(0)
    try:
        folder = make_private(tmp_path / "a" / "b", ME)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o755, 0o700]


def test_nothing_is_made_below_a_folder_that_is_not_trusted(tmp_path: Path, owners: Owners) -> None:
    folder = folder_of(tmp_path, 0o777)
    with pytest.raises(Untrusted):
        make_private(folder / "inner", ME)
    assert not any(folder.iterdir())


def test_relative_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for user in (None, os.geteuid()):
        with pytest.raises(Untrusted, match="relative"):
            make_private(Path("cache"), user)
    assert not any(tmp_path.iterdir())


def test_without_numbered_users_modes_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows shows every folder as one that everyone can write."""
    monkeypatch.delattr(os, "geteuid")
    user = private_folders.current_user()
    assert user is None
    folder = folder_of(tmp_path, 0o777, 0o777)
    assert make_private(folder, user) == folder


def test_a_group_of_one_may_write(tmp_path: Path, owners: Owners, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path, 0o775, 0o775)
    monkeypatch.setattr(private_folders, "_is_group_of_one", lambda group, user: group == folder.stat().st_gid)
    assert make_private(folder, ME) == folder
