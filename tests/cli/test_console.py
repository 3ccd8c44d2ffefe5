"""`ostinato console`: options, and errors before anything is served."""

from __future__ import annotations

import signal
import socket
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_an_unknown_host(capsys, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    code, err = run(capsys, "--log", tmp_path, "--host", "192.0.2.1", "--port", 0)
    assert (code, "PORT_NOT_FREE" in err, "--host names" in err) == (ExitCode.ENVIRONMENT, True, True), err


@pytest.fixture
def served(monkeypatch) -> list[dict[str, Any]]:
    """The calls of `open_console`. Each console gets a SIGTERM at once."""
    pytest.importorskip("uvicorn")
    calls: list[dict[str, Any]] = []

    def opened(*_: Any, **options: Any) -> Any:
        calls.append(options)
        return SimpleNamespace(address="http://127.0.0.1/", run=lambda: signal.raise_signal(signal.SIGTERM))

    monkeypatch.setattr("ostinato.live_console.server.console_server.open_console", opened)
    return calls


def test_sigterm_leaves_nothing_behind(capsys, tmp_path: Path, monkeypatch, served) -> None:
    ended: list[Path] = []

    class Demo:
        def __init__(self, folder: Path) -> None:
            self.folder = folder
            (folder / "rules").mkdir()

        def first_sources(self) -> Any:
            return SimpleNamespace(note="")

        def next_sources(self) -> None:
            pass

        def start(self) -> None:
            pass

        def stop(self) -> None:
            signal.raise_signal(signal.SIGTERM)  # whoever stops the console is impatient
            ended.append(self.folder)

    monkeypatch.setattr("ostinato.live_console.demo.console_demo.Demo", Demo)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    assert main(["console", "--demo"]) == ExitCode.DONE
    assert "stopped" in capsys.readouterr().out
    assert len(served) == len(ended) == 1 and list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
def test_a_console_for_other_machines_warns_of_plain_http(capsys, tmp_path, served, host: str, warns: bool) -> None:
    code, err = run(capsys, "--log", tmp_path, "--host", host)
    assert (code, "plain HTTP" in err, served[0]["host"]) == (ExitCode.DONE, warns, host)


def test_a_missing_extra_is_named(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, err = run(capsys, "--log", tmp_path)
    assert code == ExitCode.ENVIRONMENT
    assert "EXTRA_MISSING" in err and "pip install 'ostinato[console]'" in err
