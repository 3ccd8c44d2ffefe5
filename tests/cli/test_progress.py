"""The line that moves while work is under way."""

import threading

from ostinato.cli.progress import Progress


def test_silent_without_a_terminal(capsys) -> None:
    with Progress(None)("running"):
        pass
    assert capsys.readouterr() == ("", "")


def test_names_the_phase_and_wipes_itself() -> None:
    written: list[str] = []
    drawn = threading.Event()

    def write(words: str) -> None:
        written.append(words)
        if "starting Spark" in words:
            drawn.set()

    with Progress(write, clock=lambda: 0.0)("starting Spark"):
        assert drawn.wait(10)
    assert "starting Spark … 0 s" in written[0]
    assert written[-1] == "\r\x1b[2K"


def test_an_error_inside_passes_through_and_the_line_goes() -> None:
    written: list[str] = []
    try:
        with Progress(written.append)("running"):
            raise ValueError
    except ValueError:
        pass
    assert written[-1] == "\r\x1b[2K"
