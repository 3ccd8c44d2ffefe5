"""Locks between processes: one has it, others wait, and a process that ends gives it back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostinato.kernels import file_locks
from ostinato.kernels.file_locks import FileLocks

pytestmark = pytest.mark.skipif(not file_locks.HAS_LOCKS, reason="this system has no file locks")
HOLDER = """
import sys
from pathlib import Path
from ostinato.kernels.file_locks import FileLocks
print(FileLocks().acquire(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_a_lock_can_be_taken_again_by_its_process(tmp_path: Path) -> None:
    """A compilation that fails gives nothing back, and its kernel may be called again."""
    locks = FileLocks()
    assert locks.acquire(tmp_path / "a.lock") and locks.acquire(tmp_path / "a.lock")
    locks.release(tmp_path / "a.lock")
    assert not (tmp_path / "a.lock").exists()
    locks.release(tmp_path / "a.lock")


def test_another_process_waits_until_the_first_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(file_locks.__file__).parents[2])},
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "True\n"
        monkeypatch.setattr(file_locks, "_LONGEST_SECONDS", 0.2)
        assert not FileLocks().acquire(path)
        monkeypatch.setattr(file_locks, "_LONGEST_SECONDS", 60)
        holder.kill()
        assert FileLocks().acquire(path)
    finally:
        holder.kill()
        holder.communicate()


def test_a_folder_that_cannot_be_written_has_no_locks(tmp_path: Path) -> None:
    assert not FileLocks().acquire(tmp_path / "missing" / "a.lock")
