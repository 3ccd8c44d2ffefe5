"""The folder of Spark's file sink -> the files that it has committed, in their order.

Spark writes files under their last names, and then lists those that count in `_spark_metadata`: one log file for each
micro-batch, and from time to time one that holds all before (`9.compact`). Files of failed tasks are never listed.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from ostinato.live_console.sources.folder_watch import inside, regular_file

LOG = "_spark_metadata"
_MOST_BYTES = 256 << 20
"""Of one log file: a compact one names about a million files with it."""
_LOG_NAME = re.compile(r"(?P<batch>\d{1,18})(?P<compact>\.compact)?", re.ASCII)


@dataclass(slots=True)
class CommittedFiles:
    """Reads each log file of a sink once."""

    folder: Path
    last_batch: int = -1
    _known: set[str] = field(default_factory=set)
    _left_out: set[str] = field(default_factory=set)

    @property
    def has_log(self) -> bool:
        return (self.folder / LOG).is_dir()

    def leave_out(self, names: Iterable[str]) -> None:
        """Files that were read before the log was there."""
        self._left_out.update(names)

    def new_names(self) -> Iterator[str]:
        """The paths inside the folder of files that were committed since the last call. Raises OSError, ValueError
        for a log file that can't be read, behind the paths of those before."""
        for batch, name in self._new_logs():
            new = list(itertools.takewhile(lambda path: path not in self._known, _added(self.folder, name)))
            self._known.update(new)
            self.last_batch = batch
            yield from (path for path in reversed(new) if path not in self._left_out)

    def _new_logs(self) -> list[tuple[int, str]]:
        """The logs to read, oldest first: from the newest compact one on."""
        logs: dict[int, tuple[bool, str]] = {}
        for entry in inside(self.folder, LOG).iterdir():
            match = _LOG_NAME.fullmatch(entry.name)
            if match is None or int(match["batch"]) <= self.last_batch:
                continue
            batch, is_compact = int(match["batch"]), match["compact"] is not None
            if is_compact or batch not in logs:
                logs[batch] = (is_compact, entry.name)
        first = max((batch for batch, (is_compact, _) in logs.items() if is_compact), default=0)
        return [(batch, logs[batch][1]) for batch in sorted(logs) if batch >= first]


def _added(folder: Path, log_name: str) -> Iterator[str]:
    """The paths of a log file, the last one first: a compact one repeats all before."""
    with regular_file(folder, f"{LOG}/{log_name}").open("rb") as content:
        read = content.read(_MOST_BYTES + 1)
    if len(read) > _MOST_BYTES:
        raise ValueError(f"{LOG}/{log_name} has more than {_MOST_BYTES >> 20} MiB")
    lines = read.decode().splitlines()
    for line in reversed(lines[1:]):  # the first one is the version of the format
        entry = json.loads(line)
        if entry.get("action", "add") == "add":
            yield relative_path(folder, entry["path"])


def relative_path(folder: Path, address: str) -> str:
    """The path inside the folder of a file that Spark names by its address.

    The folder may be mounted elsewhere than on Spark's machines: then everything behind its last name counts.

    >>> relative_path(Path("/data/sink"), "file:///data/sink/rule%3Dvelocity/part-0.parquet")
    'rule=velocity/part-0.parquet'
    >>> relative_path(Path("/mnt/sink"), "hdfs://cluster/data/sink/part-0.parquet")
    'part-0.parquet'
    """
    path = PurePosixPath(unquote(urlsplit(address).path))
    for root in (folder, folder.resolve()):
        if path.is_relative_to(root.as_posix()):
            return path.relative_to(root.as_posix()).as_posix()
    parts = path.parts
    if folder.name in parts:
        last = len(parts) - 1 - parts[::-1].index(folder.name)
        return "/".join(parts[last + 1 :])
    return path.name
