"""`ostinato warm` and `ostinato archive`."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numba
import pytest

import ostinato
from ostinato.cli import main, warm
from ostinato.kernels import kernel_environment, package_kernels


def test_all_kernels_of_clauses_are_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """The package has them: `make kernels`."""
    assert main(["warm", "--clauses"]) == 0
    assert re.match(r"\d+ kernels in \d+ s: \d+ from the package\n", capsys.readouterr().out)


def test_no_portable_cpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_environment, "portable_target", lambda: None)
    assert main(["warm", "--package"]) == 3
    assert "NO_COMPILED_KERNELS" in capsys.readouterr().err


def test_a_package_that_is_no_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(warm.ostinato, "__file__", str(tmp_path / "package.zip" / "ostinato" / "__init__.py"))
    assert main(["warm", "--package"]) == 3
    assert "its folder can't be written" in capsys.readouterr().err


def test_nothing_can_be_compiled(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert main(["warm"]) == 3
    assert "unset NUMBA_DISABLE_JIT" in capsys.readouterr().err


def test_an_archive_of_the_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["archive", str(tmp_path / "ostinato.zip")]) == 0
    assert re.search(r"MB, \d+ compiled kernels", capsys.readouterr().out)
    names = zipfile.ZipFile(tmp_path / "ostinato.zip").namelist()
    assert {"ostinato/__init__.py", "ostinato/kernels/signatures.json"} <= set(names)


def test_an_archive_without_kernels_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(package_kernels, "ENDING", ".other")
    assert main(["archive", str(tmp_path / "ostinato.zip")]) == 0
    assert "ostinato warm --package" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "code", "words"), [("a.whl", 2, "ends in .zip"), ("missing/a.zip", 2, "can't write")])
def test_archives_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, code: int, words: str
) -> None:
    assert main(["archive", str(tmp_path / name)]) == code
    assert words in capsys.readouterr().err


def test_the_commands_do_not_write_into_the_package(tmp_path: Path) -> None:
    before = sorted(path for path in Path(ostinato.__file__).parent.rglob("*") if "__pycache__" not in path.parts)
    main(["warm", "--clauses"])
    main(["archive", str(tmp_path / "ostinato.zip")])
    assert sorted(p for p in Path(ostinato.__file__).parent.rglob("*") if "__pycache__" not in p.parts) == before
