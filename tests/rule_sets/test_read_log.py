"""A folder of changes as a log: the versions in force, and files that aren't changes."""

from __future__ import annotations

from pathlib import Path

from ostinato.rule_sets.change_files import read_log, write_change


def write(folder: Path, id: str, text: str = "x", *, enabled: bool = True, options: object = None) -> None:
    write_change(folder, id, text, version=None, enabled=enabled, options=options)


def test_the_highest_version_counts(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write(tmp_path, "a/b", text)
    write(tmp_path, "c", "three")
    write(tmp_path, "c", "", enabled=False)
    log = read_log(tmp_path)
    assert {id: (change.version, change.text, change.enabled) for id, change in log.in_force.items()} == {
        "a/b": (2, "two", True),
        "c": (2, "", False),
    }
    assert (log.faults, log.suspended) == ({}, {})
    assert [log.next_version(id) for id in ("a/b", "c", "new")] == [3, 3, 1]


def test_no_folder_is_an_empty_log(tmp_path: Path) -> None:
    log = read_log(tmp_path / "none")
    assert (log.in_force, log.faults, log.next_version("a")) == ({}, {}, 1)


def test_a_suspension_and_the_version_that_it_suspends(tmp_path: Path) -> None:
    write(tmp_path, "a", "one")
    write(tmp_path, "a", "two")
    write(tmp_path, "a", "", enabled=False, options={"reason": "slow"})
    log = read_log(tmp_path)
    assert (log.in_force["a"].version, log.suspended["a"].text) == (3, "two")


def test_files_edited_by_hand(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write(tmp_path, "a", text)
    write(tmp_path, "b", "one")
    (tmp_path / "a.v00000002.json").write_text('{"id": "a", "version": 2, "text": ')
    (tmp_path / "b.v00000001.json").write_bytes(b"\xff")
    (tmp_path / "upload.json").write_text('{"id": "a", "version": 7, "text": "upload", "enabeld": true}')
    (tmp_path / "_SUCCESS.json").write_text("")
    (tmp_path / ".hidden.json").write_text("")
    log = read_log(tmp_path)
    assert {id: change.text for id, change in log.in_force.items()} == {"a": "one"}
    assert {name: fault.code for name, fault in log.faults.items()} == {
        "a.v00000002.json": "INVALID_RULE",
        "b.v00000001.json": "INVALID_RULE",
        "upload.json": "INVALID_RULE",
    }
    assert "did you mean 'enabled'" in str(log.faults["upload.json"])
    assert [log.next_version("a"), log.next_version("b")] == [3, 2]


def test_a_version_with_two_contents_counts_for_neither(tmp_path: Path) -> None:
    write(tmp_path, "a", "one")
    write(tmp_path, "a", "two")
    (tmp_path / "upload.json").write_text('{"id": "a", "version": 2, "text": "other"}')
    (tmp_path / "zcopy.json").write_text((tmp_path / "a.v00000001.json").read_text())  # a duplicate does no harm
    log = read_log(tmp_path)
    assert log.in_force["a"].text == "one"
    assert {name: fault.code for name, fault in log.faults.items()} == {"upload.json": "RULE_VERSION_EXISTS"}
    assert log.next_version("a") == 3


def test_the_content_tells_the_version(tmp_path: Path) -> None:
    write(tmp_path, "a", "one")
    (tmp_path / "a.v00000001.json").rename(tmp_path / "a.v00000009.json")
    (tmp_path / "other.json").write_text('{"id": "a", "version": 12, "text": "two"}')
    log = read_log(tmp_path)
    assert (log.in_force["a"].text, log.next_version("a")) == ("two", 13)
