"""`main(argv)`: exit codes and messages, without Spark."""

import io

import pytest

import ostinato
from ostinato.cli import main
from ostinato.cli.arguments import RUN_EXAMPLE
from ostinato.cli.bench import find_checkout
from ostinato.cli.failures import ExitCode, described, spark_message
from ostinato.errors import EnvironmentFault, MatchError, QueryError, carried


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(word) for word in argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


COMMANDS = ["", "run", "demo", "explain", "why-not", "rules", "console", "bench", "doctor", "warm", "archive"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_no_error(capsys, command) -> None:
    code, out, err = run(capsys, *command.split(), "--help")
    assert (code, err) == (0, "")
    assert "usage: ostinato" in out


def test_the_help_of_run_has_an_example_with_a_file_of_ones_own(capsys) -> None:
    _, out, _ = run(capsys, "run", "--help")
    assert RUN_EXAMPLE in out
    assert "--input trades=trades.csv" in out


def test_version(capsys) -> None:
    assert run(capsys, "--version") == (0, f"ostinato {ostinato.__version__}\n", "")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "COMMAND"),
        (["dance"], "invalid choice"),
        (["run"], "one of the arguments q.sql -e/--execute is required"),
        (["run", "q.sql", "-e", "SELECT 1"], "not allowed with"),
        (["run", "q.sql", "--limit", "-1"], "must be at least 0"),
        (["run", "q.sql", "--limit", "ten"], "'ten' is not a whole number"),
        (["run", "q.sql", "--format", "xml"], "invalid choice"),
        (["demo", "--rows", "5"], "must be at least 600"),
        (["doctor", "--conf", "spark.x"], "'spark.x' is not NAME=VALUE"),
        (["archive"], "FILE.zip"),
    ],
)
def test_usage_errors_of_the_arguments(capsys, argv, words) -> None:
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("argv", "code_word"),
    [
        (["run", "missing.sql"], "QUERY_MISSING"),
        (["run", "-e", "  ;"], "EMPTY_QUERY"),
        (["run", "-e", "SELECT 1", "--input", "trades"], "INVALID_INPUT"),
        (["run", "-e", "SELECT 1", "--input", "a b=x.csv"], "INVALID_INPUT"),
        (["run", "-e", "SELECT 1", "--input", "t=missing.parquet"], "INPUT_MISSING"),
        (["run", "-e", "SELECT 1", "--input", "t=*.csv", "--input", "T=*.csv"], "DUPLICATE_INPUT"),
        (["run", "-e", "SELECT 1", "--input", "t=data.xlsx"], "UNKNOWN_FORMAT"),
        (["run", "-e", "SELECT 1", "--output", "out.xlsx"], "UNKNOWN_FORMAT"),
        (["run", "-e", "SELECT 1", "--output", "out.csv.gz"], "UNKNOWN_FORMAT"),
        (["run", "-e", "SELECT 1", "--output", "no/such/folder/out.csv"], "OUTPUT_FOLDER_MISSING"),
        (["run", "-e", "SELECT 1", "--html", "no/such/folder/out.html"], "OUTPUT_FOLDER_MISSING"),
        (["run", "-e", "SELECT 1", "--html", "."], "OUTPUT_IS_FOLDER"),
        (["run", "-e", "SELECT 1", "--html", "out.html", "--stream"], "INVALID_OPTION"),
        (["run", "-e", "SELECT 1", "--y", "price"], "INVALID_OPTION"),
        (["explain", "missing.sql"], "QUERY_MISSING"),
    ],
)
def test_usage_errors_of_files_come_before_spark_starts(capsys, tmp_path, monkeypatch, argv, code_word) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"{code_word}: ")
    assert "Traceback" not in err


def test_a_query_in_place_of_a_file_gets_a_hint(capsys) -> None:
    code, _, err = run(capsys, "run", "SELECT 1")
    assert code == 2
    assert "hint: use -e for a query on the command line" in err


def test_output_must_not_be_a_folder(capsys, tmp_path) -> None:
    (tmp_path / "out.csv").mkdir()
    code, _, err = run(capsys, "run", "-e", "SELECT 1", "--output", tmp_path / "out.csv")
    assert (code, err.split(":")[0]) == (2, "OUTPUT_IS_FOLDER")


def test_a_query_that_is_not_text(capsys, tmp_path) -> None:
    (tmp_path / "q.sql").write_bytes(b"\xff\xfe\x00")
    code, _, err = run(capsys, "run", tmp_path / "q.sql")
    assert (code, err.split(":")[0]) == (2, "QUERY_UNREADABLE")


def test_a_demo_that_cannot_write(capsys, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "demo", "--out", tmp_path / "file" / "folder")
    assert (code, err.split(":")[0]) == (2, "OUTPUT_FOLDER_MISSING")


CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS x PATTERN (A B+) DEFINE B AS v > PREV(v))"


def test_explain_prints_the_text_and_draws_the_picture(capsys, tmp_path) -> None:
    code, out, err = run(capsys, "explain", "-e", CLAUSE, "--svg", tmp_path / "a.svg")
    assert code == 0, err
    assert "A B+" in out
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_explain_reads_the_query_from_stdin(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(CLAUSE + ";\n"))
    code, out, _ = run(capsys, "explain", "-")
    assert code == 0
    assert "A B+" in out


def test_explain_takes_columns_from_an_input(capsys, tmp_path) -> None:
    (tmp_path / "t.csv").write_text("ts,v\n1,2.5\n")
    assert run(capsys, "explain", "-e", CLAUSE, "--input", f"t={tmp_path / 't.csv'}")[0] == 0
    (tmp_path / "t.csv").write_text("ts,w\n1,2.5\n")
    code, _, err = run(capsys, "explain", "-e", CLAUSE, "--input", f"t={tmp_path / 't.csv'}")
    assert code == 1
    assert err.startswith("UNKNOWN_COLUMN: ")


def test_a_wrong_query_shows_the_caret_and_no_trace(capsys) -> None:
    code, out, err = run(capsys, "explain", "-e", "ORDER BY ts MEASURES 1 AS x PATTERN (A{3,1}) DEFINE A AS v > 1")
    assert (code, out) == (1, "")
    assert "{3,1}" in err
    assert "^" in err
    assert "Traceback" not in err


def test_debug_shows_the_trace(capsys) -> None:
    code, _, err = run(capsys, "explain", "--debug", "-e", "ORDER BY ts MEASURES 1 AS x PATTERN (A{3,1})")
    assert code == 1
    assert "Traceback (most recent call last)" in err


def test_bench_needs_a_checkout(tmp_path) -> None:
    with pytest.raises(EnvironmentFault, match="BENCHMARKS_MISSING"):
        find_checkout([tmp_path])
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__main__.py").write_text("")
    assert find_checkout([tmp_path / "other", tmp_path]) == tmp_path


class _SparkError(Exception):
    pass


_SparkError.__module__ = "pyspark.errors.exceptions.captured"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (QueryError("UNKNOWN_VARIABLE", "no C"), ExitCode.QUERY, "UNKNOWN_VARIABLE: no C"),
        (EnvironmentFault("JAVA_MISSING", "no Java"), ExitCode.ENVIRONMENT, "JAVA_MISSING: no Java"),
        (ModuleNotFoundError("No module named 'pyspark'", name="pyspark"), ExitCode.ENVIRONMENT, "SPARK_MISSING: "),
        (
            _SparkError(f"x {carried(MatchError('SKIP_TARGET_MISSING', 'no row'))} y"),
            ExitCode.QUERY,
            "SKIP_TARGET_MISSING: no row",
        ),
        (
            _SparkError("[DIVIDE_BY_ZERO] Division by zero.\n\tat org.apache"),
            ExitCode.QUERY,
            "SPARK_ERROR: [DIVIDE_BY_ZERO] Division by zero.",
        ),
        (ZeroDivisionError("oh"), ExitCode.UNEXPECTED, "UNEXPECTED: ZeroDivisionError: oh"),
    ],
)
def test_every_error_has_a_code_and_words(error, code, words) -> None:
    found = described(error)
    assert found[0] == code
    assert found[1].startswith(words)


def test_spark_messages_lose_plans_and_traces() -> None:
    assert spark_message("") == "Spark gave no message"
    assert spark_message("\n[PARSE] bad\n\n== SQL ==\nSELECT\n^^^\n\nJVM stacktrace:\norg.x\n") == (
        "[PARSE] bad\n\n== SQL ==\nSELECT\n^^^"
    )
