"""Lines of one task and epoch -> one file, which appears under its name when the epoch is committed.

A task writes a hidden file, and the driver renames it. A replay of an epoch writes files of the same names, which
replace those of the first attempt. A reader that ignores hidden files, as Spark does, sees each file whole or not at
all.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ostinato.errors import MatchError
from ostinato.spark.sinks.sink_task import SinkTask

_OURS = re.compile(r"[0-9a-f-]{36}-\d{8,}-\d{5,}\.jsonl(\.gz)?")
"""Names of committed files: those that a job in mode `complete` or `overwrite` replaces."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The hidden file of a task, and the name that it gets. `hidden` is None if the task had no rows."""

    task: SinkTask
    name: str
    hidden: str | None


def write_hidden(folder: str, task: SinkTask, lines: Iterable[str], *, compressed: bool = False) -> WrittenFile:
    """Writes the lines to a hidden file. Without lines there is no file. A failure leaves no file behind."""
    name = f"{_epoch_name(task)}-{task.partition:05d}.jsonl{'.gz' if compressed else ''}"
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return WrittenFile(task, name, None)
    # Attempts are counted anew in each application, and a worker may outlive the kill of its own. So chance names the
    # file: no two tasks write to the same one.
    hidden = f".{name}.{task.attempt}-{uuid4().hex[:8]}.tmp"
    path = Path(folder) / hidden
    with _writing(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _opened(path, compressed) as file:
                file.write(f"{first}\n".encode())
                file.writelines(f"{line}\n".encode() for line in rest)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return WrittenFile(task, name, hidden)


@contextlib.contextmanager
def _writing(folder: str) -> Iterator[None]:
    """Errors of the file system leave it as an error of ours."""
    try:
        yield
    except OSError as error:
        raise MatchError(
            "SINK_NOT_WRITABLE",
            f"{folder} can't be written: {error.strerror or error}",
            hint="a folder with free space, which the driver and the executors may write to",
        ) from error


@contextlib.contextmanager
def _opened(path: Path, compressed: bool) -> Iterator[BinaryIO | gzip.GzipFile]:
    """A file that is on the disk when the block ends. Equal lines give equal bytes: no time in the gzip header."""
    with path.open("wb") as file:
        if compressed:
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                yield packed
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())


def commit_files(folder: str, written: Sequence[WrittenFile], *, replace_all: bool = False) -> None:
    """Gives the files of one epoch their names. Removes files of an earlier attempt at the same epoch, which may have
    had more partitions. With `replace_all` it removes all other files of this sink."""
    root = Path(folder)
    names = {file.name for file in written if file.hidden is not None}
    epochs = tuple({f"{_epoch_name(file.task)}-" for file in written})
    with _writing(folder):
        for file in written:
            if file.hidden is not None:
                _rename(root, file)
        for entry in list(root.iterdir()) if root.is_dir() else []:
            of_epoch = entry.name.lstrip(".").startswith(epochs)
            is_left_over = of_epoch and (entry.name.endswith(".tmp") or _OURS.fullmatch(entry.name) is not None)
            if entry.name not in names and (is_left_over or (replace_all and _OURS.fullmatch(entry.name))):
                entry.unlink(missing_ok=True)
    _sync_folder(root)


def publish_file(folder: str, file: WrittenFile) -> None:
    """Gives the file of one partition its name at once, without the driver. Without lines, a file that an earlier
    attempt at the same partition left is removed."""
    with _writing(folder):
        if file.hidden is None:
            (Path(folder) / file.name).unlink(missing_ok=True)
        else:
            _rename(Path(folder), file)
            _sync_folder(Path(folder))


def discard_files(folder: str, written: Iterable[WrittenFile]) -> None:
    """Removes the hidden files of a failed epoch. A replay writes them again."""
    for file in written:
        if file.hidden is not None:
            (Path(folder) / file.hidden).unlink(missing_ok=True)


def _epoch_name(task: SinkTask) -> str:
    return f"{task.job}-{task.epoch:08d}"


def _rename(root: Path, file: WrittenFile) -> None:
    try:
        os.replace(root / str(file.hidden), root / file.name)
    except FileNotFoundError:
        raise MatchError(
            "SINK_FILE_MISSING",
            f"the driver doesn't see the file that partition {file.task.partition} wrote in {root}",
            hint="path is a folder of a file system that is mounted at the same place on the driver and all executors",
        ) from None


def _sync_folder(root: Path) -> None:
    """Puts the names on the disk, too. Some file systems can't sync a folder."""
    if root.is_dir():
        with contextlib.suppress(OSError):
            number = os.open(root, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
