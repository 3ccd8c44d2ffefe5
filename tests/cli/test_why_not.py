"""`ostinato why-not`, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.cli import main

CLAUSE = "PARTITION BY k, n ORDER BY t MEASURES 1 AS m PATTERN (A B) DEFINE B AS v > PREV(v)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("k,n,t,v\na,1,2024-01-01 00:00:00,5\na,1,2024-01-01 00:01:00,4\nb,2,2024-01-01 00:00:00,1\n")
    return path


def run(capsys: pytest.CaptureFixture[str], file: Path, *argv: object) -> tuple[int, str, str]:
    code = main(["why-not", "-e", CLAUSE, "--input", f"t={file}", *(str(word) for word in argv)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_it_tells_why_and_draws_it(capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, file, "--key", "K=a", "--key", "n=1", "--svg", tmp_path / "a.svg")
    assert code == 0, err
    assert "row 0 (t = 2024-01-01 00:00:00): 1 row as A, then row 1 (t = 2024-01-01 00:01:00) is refused" in out
    assert "B: v > PREV(v) is FALSE: v = 4, PREV(v) = 5" in out
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_start_rows(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    _, out, _ = run(capsys, file, "--key", "k=a", "--key", "n=1", "--rows", "1:")
    assert "of 1 start row," in out


@pytest.mark.parametrize(
    ("argv", "code", "error"),
    [
        ([], 1, "KEY_MISSING"),
        (["--key", "k"], 2, "INVALID_KEY"),
        (["--key", "k=a", "--key", "n=one"], 2, "INVALID_KEY"),
        (["--key", "z=a"], 1, "UNKNOWN_COLUMN"),
        (["--key", "k=a", "--key", "n=2"], 1, "KEY_NOT_FOUND"),
        (["--rows", "a:b"], 2, "INVALID_OPTION"),
        (["--key", "k=b", "--key", "n=2", "--svg", "no/such/folder.svg"], 2, "OUTPUT_FOLDER_MISSING"),
        (["--input", "u=t.csv"], 2, "INPUT_MISSING"),
    ],
)
def test_errors(
    capsys: pytest.CaptureFixture[str],
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    code: int,
    error: str,
) -> None:
    monkeypatch.chdir(file.parent.parent)
    assert (run(capsys, file, *argv)[0::2][0], run(capsys, file, *argv)[2].split(":")[0]) == (code, error)


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        ([], "--key COLUMN=VALUE, with one of {'k': 'a', 'n': 1}, {'k': 'b', 'n': 2}, ..."),
        (["--key", "k=a"], "the key columns are k, n: --key symbol=ACME"),
        (
            ["--key", "k=a", "--key", "n=1", "--rows", "7"],
            "--rows has positions in the order of the key, the first is 0",
        ),
    ],
)
def test_hints_have_the_options_of_the_command(
    capsys: pytest.CaptureFixture[str], file: Path, argv: list[str], hint: str
) -> None:
    assert run(capsys, file, *argv)[2].splitlines()[-1] == f"hint: {hint}"


def test_two_inputs_are_one_too_many(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    code, _, err = run(capsys, file, "--input", f"u={file}")
    assert (code, err.split(":")[0]) == (2, "INVALID_INPUT")
