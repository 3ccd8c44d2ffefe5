"""`ostinato doctor`: a line for each thing, and how to mend it. Spark's part is in tests/spark/cli."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.cli import doctor, main
from ostinato.cli.doctor import Finding, State
from ostinato.kernels import kernel_cache, package_kernels, signatures
from ostinato.kernels.kernel_environment import Target
from ostinato.kernels.package_kernels import PackageKernels, write_package_kernels


def test_a_machine_without_spark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-spark"]) == 0
    topics = {line.split()[1] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")}
    assert topics == {"ostinato", "python", "packages", "cpu", "kernels", "cache"}


def kernels_found(monkeypatch: pytest.MonkeyPatch, folder: Path, stored: tuple[int, int]) -> Finding:
    monkeypatch.setattr(package_kernels, "package_kernels", lambda: PackageKernels(folder))
    monkeypatch.setattr(signatures, "stored", lambda: stored)
    (finding,) = [finding for finding in doctor.kernels() if finding.topic == "kernels"]
    return finding


def test_kernels_that_are_missing_are_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = kernels_found(monkeypatch, tmp_path, (19, 55))
    assert finding.state is State.SLOW
    assert finding.words == "19 of 55 kernels are compiled; not from the package: this installation brings none"
    assert "ostinato warm" in finding.mend


def test_kernels_of_the_package_or_the_user_are_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels_found(monkeypatch, tmp_path, (55, 55)).state is State.GOOD  # after `ostinato warm`
    write_package_kernels({"a": b"code"}, Target("some-cpu", frozenset()), tmp_path)
    finding = kernels_found(monkeypatch, tmp_path, (55, 55))
    assert (finding.state, finding.words) == (
        State.GOOD,
        "55 of 55 kernels are compiled; those of the package are used",
    )


def test_a_numba_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Iterator[Finding]:
        raise ImportError("numba needs another numpy")
        yield

    monkeypatch.setattr(doctor, "kernels", broken)
    assert main(["doctor", "--no-spark"]) == 3
    assert "numba needs another numpy" in capsys.readouterr().out


def test_a_session_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "_session", lambda options: threading.Event().wait())
    monkeypatch.setattr(doctor, "_LONGEST_SECONDS", 0.1)
    assert main(["doctor", "--remote", "sc://nowhere"]) == 3
    assert "no answer within 0 s" in capsys.readouterr().out


def test_no_folder_for_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "used_kernels", lambda: kernel_cache.UsedKernels({}, None))
    (finding,) = [finding for finding in doctor.kernels() if finding.topic == "cache"]
    assert finding.state is State.SLOW and "NUMBA_CACHE_DIR" in finding.mend


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("grpc") else found(name))
    states = {finding.topic: finding for finding in doctor.spark_packages()}
    assert states["connect"].state is State.MISSING and "grpcio" in states["connect"].words
    assert states["streams"].state is State.GOOD
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (finding,) = doctor.spark_packages()
    assert finding.state is State.BAD and "ostinato[spark]" in finding.mend


def test_the_exit_code_says_that_queries_cannot_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [Finding("java", State.BAD, "none was found", "install one"), Finding("streams", State.MISSING, "no")]
    monkeypatch.setattr(doctor, "findings", lambda options, progress: iter(problems))
    assert main(["doctor"]) == 3
    assert capsys.readouterr().out.splitlines()[:2] == [
        "error   java        none was found",
        f"{'':20}-> install one",
    ]
