"""Control characters of users never reach the terminal: names, values, queries and files with hostile characters."""

import io
import json
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ostinato.cli import main
from ostinato.cli.run import print_rows
from ostinato.cli.terminal import visible, visible_lines
from ostinato.cli.text_table import text_table

HOSTILE = "\x1b]0;own\x07\x9b31m\x7f\u202eab\u2066c\u2069\r"


def controls(text: str) -> list[str]:
    """The characters of the text that could act on a terminal. Line ends are our own."""
    return [char for char in text if char != "\n" and not char.isprintable()]


@pytest.mark.parametrize(
    "code", [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028]
)
def test_every_control_character_is_escaped(code) -> None:
    assert visible(f"a{chr(code)}b").startswith("a\\")
    assert not controls(visible_lines(f"a{chr(code)}b"))


def test_other_text_stays() -> None:
    assert visible("naïve 日本 €") == "naïve 日本 €"
    assert visible_lines("two\nlines") == "two\nlines"


def test_names_and_cells_of_a_table() -> None:
    text = text_table([HOSTILE], [[HOSTILE], [[HOSTILE]], [{HOSTILE: HOSTILE}]], width=300)
    assert not controls(text)
    assert len(text.splitlines()) == 5


@pytest.mark.parametrize(
    "argv",
    [
        ["explain", "-e", f"PATTERN ({HOSTILE})"],
        ["explain", "-e", f"ORDER BY ts MEASURES 1 AS x PATTERN (A) DEFINE A AS `{HOSTILE}` > 1 AND"],
        ["explain", f"{HOSTILE}.sql"],
        ["explain", "--debug", f"{HOSTILE}.sql"],
        ["run", "-e", "SELECT 1", "--input", f"t={HOSTILE}.csv"],
        ["run", "-e", "SELECT 1", "--input", f"t=a.{HOSTILE}"],
        ["run", "-e", "SELECT 1", "--output", f"{HOSTILE}/out.csv"],
        ["run", "-e", "SELECT 1", "--limit", HOSTILE],
        ["run", "-e", "SELECT 1", f"--{HOSTILE}"],
        [HOSTILE],
    ],
)
def test_errors(capsys, argv) -> None:
    assert main(argv) != 0
    out, err = capsys.readouterr()
    assert err
    assert not controls(out + err)


def test_explain_and_the_file_it_writes(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f'ts,"v{HOSTILE[:-1]}"\n1,2\n', encoding="utf-8")
    query = f"ORDER BY ts MEASURES 1 AS x PATTERN (A) DEFINE A AS `v{HOSTILE[:-1]}` > 1"
    assert main(["explain", "-e", query, "--input", "t=t.csv", "--svg", f"{HOSTILE}.svg"]) == 0
    out, err = capsys.readouterr()
    assert "\\u202eab" in out and "\\u202eab" in err
    assert not controls(out + err)
    ElementTree.fromstring(Path(f"{HOSTILE}.svg").read_text(encoding="utf-8"))


def test_warnings(capsys, monkeypatch) -> None:
    monkeypatch.setattr("ostinato.cli.explain.query_text", lambda options: warnings.warn(HOSTILE, stacklevel=1))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main(["explain", "-e", "x"])
    err = capsys.readouterr().err
    assert err.startswith("warning: \\x1b]0;own")
    assert not controls(err)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


ROWS = [("a\x1b[2Jb", ["\x9b1m"])]


def test_data_are_exact_in_a_pipe_and_harmless_on_a_terminal(capsys, monkeypatch) -> None:
    print_rows(["x\x7f", "y"], iter(ROWS), "csv")
    assert capsys.readouterr().out == "x\x7f,y\na\x1b[2Jb,[\x9b1m]\n"
    print_rows(["x\x7f", "y"], iter(ROWS), "json")
    assert json.loads(capsys.readouterr().out) == {"x\x7f": "a\x1b[2Jb", "y": ["\x9b1m"]}
    for form in ("csv", "json"):
        terminal = Terminal()
        monkeypatch.setattr("sys.stdout", terminal)
        print_rows(["x\x7f", "y"], iter(ROWS), form)
        assert not controls(terminal.getvalue())
        assert "[2Jb" in terminal.getvalue()
