"""The line that moves while work is under way, and the lines of a log."""

import threading

import pytest

from ostinato.cli import progress as progress_module
from ostinato.cli.progress import Progress, progress_on_stderr


def test_a_short_phase_is_silent_without_a_terminal(capsys) -> None:
    with progress_on_stderr()("running"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_long_phase_leaves_plain_lines_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "FIRST_LOG_LINE_SECONDS", 0.01)
    written: list[str] = []
    third = threading.Event()

    def write(words: str) -> None:
        written.append(words)
        if len(written) == 3:
            third.set()

    with Progress(write, is_terminal=False)("starting Spark"):
        assert third.wait(10)
    assert written[:3] == ["starting Spark … 0 s\n"] * 3


def test_names_the_phase_and_wipes_itself() -> None:
    written: list[str] = []
    drawn = threading.Event()

    def write(words: str) -> None:
        written.append(words)
        if "starting Spark" in words:
            drawn.set()

    with Progress(write, is_terminal=True, clock=lambda: 0.0)("starting Spark"):
        assert drawn.wait(10)
    assert "starting Spark … 0 s" in written[0]
    assert written[-1] == "\r\x1b[2K"


def test_an_error_inside_passes_through_and_the_line_goes() -> None:
    written: list[str] = []
    try:
        with Progress(written.append, is_terminal=True)("running"):
            raise ValueError
    except ValueError:
        pass
    assert written[-1] == "\r\x1b[2K"
