"""Files of one epoch: hidden until the commit, replaced by a replay."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.errors import MatchError, QueryError
from ostinato.spark.sinks.json_lines_files import (
    WrittenFile,
    commit_files,
    discard_files,
    publish_file,
    write_hidden,
)
from ostinato.spark.sinks.sink_options import local_folder
from ostinato.spark.sinks.sink_task import SinkTask

JOB = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
OTHER_JOB = "2c5f39cb-2fa1-11d2-883f-0016d3cca427"


def written(
    folder: Path, *partitions: list[str], epoch: int = 0, job: str = JOB, attempt: int = 0, compressed: bool = False
) -> list[WrittenFile]:
    """The hidden files of an epoch with these lines by partition."""
    return [
        write_hidden(str(folder), SinkTask(job, epoch, number, attempt), lines, compressed=compressed)
        for number, lines in enumerate(partitions)
    ]


def committed(folder: Path) -> dict[str, list[str]]:
    """The lines by name, without the job. A reader sees no hidden file."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    return {name.removeprefix(f"{JOB}-"): (folder / name).read_text().splitlines() for name in names}


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_lines_appear_with_the_commit(tmp_path: Path) -> None:
    files = written(tmp_path, ["a", "b"], [], ["c"])
    assert committed(tmp_path) == {}
    commit_files(str(tmp_path), files)
    assert committed(tmp_path) == {"00000000-00000.jsonl": ["a", "b"], "00000000-00002.jsonl": ["c"]}
    assert hidden(tmp_path) == []


def test_a_replay_replaces_the_files_of_its_epoch(tmp_path: Path) -> None:
    """The first attempt was killed while its files got their names. It had more partitions than the second."""
    commit_files(str(tmp_path), written(tmp_path, ["before"], epoch=0))
    first = written(tmp_path, ["a"], ["b"], ["c"], epoch=1, attempt=10)
    commit_files(str(tmp_path), first[:2])
    written(tmp_path, ["a"], ["b"], ["c"], epoch=1, attempt=11)  # killed before its commit
    commit_files(str(tmp_path), written(tmp_path, ["b", "a", "c"], epoch=1, attempt=12))
    assert committed(tmp_path) == {"00000000-00000.jsonl": ["before"], "00000001-00000.jsonl": ["b", "a", "c"]}
    assert hidden(tmp_path) == []


def test_a_task_of_a_killed_application_writes_to_a_file_of_its_own(tmp_path: Path) -> None:
    """Its worker is still alive when the next application writes the partition. Attempts are counted from 0 again."""
    (new,) = written(tmp_path, ["new"], attempt=7)
    (old,) = written(tmp_path, ["old"], attempt=7)
    commit_files(str(tmp_path), [new])
    assert committed(tmp_path) == {"00000000-00000.jsonl": ["new"]}
    assert old.hidden != new.hidden
    assert hidden(tmp_path) == []


def test_a_number_that_begins_like_another_is_another_epoch(tmp_path: Path) -> None:
    for epoch in (100_000_000, 10_000_000):
        commit_files(str(tmp_path), written(tmp_path, [str(epoch)], epoch=epoch))
    assert sorted(committed(tmp_path)) == ["10000000-00000.jsonl", "100000000-00000.jsonl"]


def test_an_epoch_without_rows_removes_what_its_first_attempt_left(tmp_path: Path) -> None:
    commit_files(str(tmp_path), written(tmp_path, ["a"]))
    commit_files(str(tmp_path), written(tmp_path, []))
    assert committed(tmp_path) == {}


def test_other_jobs_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("mine\n")
    commit_files(str(tmp_path), written(tmp_path, ["other"], job=OTHER_JOB))
    commit_files(str(tmp_path), written(tmp_path, ["a"]))
    assert len(committed(tmp_path)) == 3
    commit_files(str(tmp_path), written(tmp_path, ["b"], epoch=1), replace_all=True)
    assert committed(tmp_path) == {"00000001-00000.jsonl": ["b"], "notes.jsonl": ["mine"]}


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "a"
        raise MemoryError

    with pytest.raises(MemoryError):
        write_hidden(str(tmp_path), SinkTask(JOB, 0, 0, 0), lines())
    assert os.listdir(tmp_path) == []
    files = written(tmp_path, ["a"], [])
    discard_files(str(tmp_path), files)
    discard_files(str(tmp_path), files)
    assert os.listdir(tmp_path) == []


def test_the_driver_must_see_the_files(tmp_path: Path) -> None:
    files = written(tmp_path, ["a"])
    with pytest.raises(MatchError, match="SINK_FILE_MISSING: the driver doesn't see the file that partition 0 wrote"):
        commit_files(str(tmp_path / "elsewhere"), files)


@pytest.mark.parametrize("folder", ["file", "file/inside"])
def test_a_path_that_is_no_folder_is_an_error_of_ours(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    path = str(tmp_path / folder)
    (file,) = written(tmp_path, ["a"])
    for write in (
        lambda: written(Path(path), ["a"]),
        lambda: commit_files(path, [file]),
        lambda: publish_file(path, file),
        lambda: publish_file(path, WrittenFile(file.task, file.name, None)),
    ):
        with pytest.raises(MatchError, match=f"SINK_NOT_WRITABLE: {path} can't be written: (Not a directory|File ex)"):
            write()


@pytest.mark.parametrize("compressed", [False, True])
def test_a_full_disk_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compressed: bool) -> None:
    def is_full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", is_full)
    with pytest.raises(MatchError, match=r"SINK_NOT_WRITABLE: .* can't be written: No space left on device"):
        written(tmp_path, ["a"], compressed=compressed)
    assert os.listdir(tmp_path) == []


def test_gzip_has_equal_bytes_for_equal_lines(tmp_path: Path) -> None:
    (file,) = written(tmp_path, ["é", "b"], compressed=True)
    commit_files(str(tmp_path), [file])
    first = (tmp_path / file.name).read_bytes()
    assert gzip.decompress(first).decode() == "é\nb\n"
    commit_files(str(tmp_path), written(tmp_path, ["é", "b"], compressed=True, attempt=5))
    assert (tmp_path / file.name).read_bytes() == first
    assert file.name.endswith(".jsonl.gz")


def test_a_partition_can_publish_alone(tmp_path: Path) -> None:
    first, second = written(tmp_path, ["a"], ["b"])
    publish_file(str(tmp_path), first)
    publish_file(str(tmp_path), second)
    publish_file(str(tmp_path), written(tmp_path, [], attempt=1)[0])  # this time every row was delivered
    assert committed(tmp_path) == {"00000000-00001.jsonl": ["b"]}


@pytest.mark.parametrize("path", ["here", "s3://bucket/x", "hdfs:///x", "file://host/x", "/a\0b"])
def test_folders_are_absolute_and_mounted(path: str) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION: path is the absolute path"):
        local_folder("path", path)
    assert local_folder("path", "/data/x:y") == "/data/x:y"
