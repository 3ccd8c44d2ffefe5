"""Makes folders for code that this process will run, and refuses folders in which other users could plant code."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

ROOT = 0
_PRIVATE, _READABLE = 0o700, 0o755
_GROUP_WRITES, _OTHERS_WRITE, _OTHERS_ENTER = stat.S_IWGRP, stat.S_IWOTH, stat.S_IXGRP | stat.S_IXOTH


class Untrusted(Exception):
    """Another user could change files in a folder. The message names the folder and the reason."""


def current_user() -> int | None:
    """The user who owns the files that this process makes; None on systems without numbered users (Windows)."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def user_cache() -> Path:
    """The user's cache folder for this package."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ostinato"


def make_private(folder: Path, user: int | None) -> Path:
    """Makes the folder, for this user alone, and its missing parents. Checks its parents and its content.

    Returns the folder's path without symbolic links, so a later change of a link has no effect. Raises Untrusted, or
    OSError if a folder can't be made. Without a user (Windows), it refuses only relative folders.
    """
    if not folder.is_absolute():
        raise Untrusted(f"{folder} is relative: which folder it is depends on where a process starts")
    real = Path(os.path.realpath(folder))
    for step in (*reversed(real.parents), real):
        if not step.exists():
            step.mkdir(mode=_PRIVATE if step == real else _READABLE, exist_ok=True)
        if user is not None:
            _check(step, step.lstat(), user, is_last=step == real)
    if user is not None:
        _check_content(real, user)
    return real


def _check(step: Path, status: os.stat_result, user: int, *, is_last: bool) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(step)
    # In a sticky folder, such as /tmp, only the owner of a file can rename or remove it.
    is_sticky = bool(status.st_mode & stat.S_ISVTX) and not is_last
    problem = _owner_problem(status, user) or (None if is_sticky else _mode_problem(status, user))
    if problem:
        raise Untrusted(f"{step} {problem}")


def _check_content(folder: Path, user: int) -> None:
    """Refuses files that another user may have planted while the folder was still open to others."""
    is_closed = not folder.lstat().st_mode & _OTHERS_ENTER
    for entry in _entries(folder):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # another process has just replaced the file
            continue
        problem = _owner_problem(status, user)
        if stat.S_ISLNK(status.st_mode):
            problem = problem or "is a symbolic link"
        elif not is_closed:  # in a closed folder nobody else reaches the file, whatever its mode
            problem = problem or _mode_problem(status, user)
        if problem:
            raise Untrusted(f"{entry.path} {problem}")


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)


def _owner_problem(status: os.stat_result, user: int) -> str | None:
    if status.st_uid in (user, ROOT):
        return None
    return f"belongs to user {status.st_uid}, not to user {user} who runs this process"


def _mode_problem(status: os.stat_result, user: int) -> str | None:
    if status.st_mode & _OTHERS_WRITE:
        return "can be written by every user"
    if status.st_mode & _GROUP_WRITES and not _is_group_of_one(status.st_gid, user):
        return f"can be written by group {status.st_gid}"
    return None


def _is_group_of_one(group: int, user: int) -> bool:
    """Whether only this user is in the group. Many systems give each user such a group, with the right to write."""
    try:
        import grp
        import pwd

        account, members = pwd.getpwuid(user), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    is_own = account.pw_gid == group and members.gr_name == account.pw_name
    return is_own and set(members.gr_mem) <= {account.pw_name}
