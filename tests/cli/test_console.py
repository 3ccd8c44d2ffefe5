"""`ostinato console`: options, and errors before anything is served."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from ostinato.cli import main
from ostinato.cli.failures import ExitCode


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    code = main(["console", *map(str, argv)])
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "CONSOLE_NEEDS_SOURCES"),
        (["--input", "rows.parquet"], "CONSOLE_NEEDS_SOURCES"),
        (["--demo", "--log", "rules"], "INVALID_OPTION: --demo has its own data, so --log"),
        (["--log", "rules", "--keys", "a,,b"], "INVALID_OPTION: --keys names columns"),
        (["--log", "rules", "--port", "70000"], "INVALID_OPTION: --port"),
    ],
)
def test_wrong_options(capsys, argv: list[str], words: str) -> None:
    code, err = run(capsys, *argv)
    assert (code, words in err) == (ExitCode.USAGE, True), err


def test_a_port_that_is_taken(capsys, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, err = run(capsys, "--log", tmp_path, "--port", taken.getsockname()[1])
    assert (code, "PORT_NOT_FREE" in err) == (ExitCode.ENVIRONMENT, True)


def test_a_missing_extra_is_named(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, err = run(capsys, "--log", tmp_path)
    assert code == ExitCode.ENVIRONMENT
    assert "EXTRA_MISSING" in err and "pip install 'ostinato[console]'" in err
