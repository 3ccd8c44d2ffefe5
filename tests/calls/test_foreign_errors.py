"""Public calls turn foreign errors into errors of ours; programming errors stay unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.calls.foreign_errors import error_of_ours, only_our_errors
from ostinato.cli.failures import ExitCode, described


def of_numba() -> Exception:
    from numba.core.errors import TypingError

    return TypingError("cannot determine the type\nand more")


def of_utf8() -> Exception:
    with pytest.raises(UnicodeDecodeError) as caught:
        b"\xff".decode()
    return caught.value


def of_java() -> Exception:
    kind = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    return kind(
        "An error occurred.\n: SparkException: [INTERNAL_ERROR] Cannot resolve it. SQLSTATE: XX000\n\tat a.b(c)"
    )


FOREIGN = [
    (of_java(), "ANALYSIS_ERROR"),
    (RecursionError("maximum recursion depth"), "TOO_DEEP"),
    (MemoryError(), "OUT_OF_MEMORY"),
    (pa.ArrowMemoryError("malloc of 9 PB failed"), "OUT_OF_MEMORY"),
    (pa.ArrowCapacityError("array cannot contain more than 2 GB"), "TASK_TOO_LARGE"),
    (pa.ArrowInvalid("Invalid UTF8 sequence in input"), "TEXT_NOT_UNICODE"),
    (pa.ArrowNotImplementedError("no kernel"), "INTERNAL_ERROR"),
    (pa.ArrowKeyError("x"), "INTERNAL_ERROR"),
    (of_utf8(), "TEXT_NOT_UNICODE"),
    (UnicodeEncodeError("utf-8", "a\ud800", 1, 2, "surrogates not allowed"), "TEXT_NOT_UNICODE"),
    (of_numba(), "INTERNAL_ERROR"),
]


@pytest.mark.parametrize(("error", "code"), FOREIGN, ids=lambda value: str(value)[:30])
def test_foreign_errors_get_a_code_and_stay_as_the_cause(error: Exception, code: str) -> None:
    with pytest.raises(ost.OstinatoError) as caught, only_our_errors():
        raise error
    assert caught.value.code == code
    assert caught.value.__cause__ is error
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("x"), ValueError("x"), KeyboardInterrupt()])
def test_programming_errors_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, only_our_errors():
        raise error
    assert caught.value is error


def test_errors_of_ours_pass_unchanged() -> None:
    error = ost.QueryError("SYNTAX_ERROR", "no")
    with pytest.raises(ost.QueryError) as caught, only_our_errors():
        raise error
    assert caught.value is error
    assert error.__cause__ is None
    assert error_of_ours(error) is None


def test_a_decorated_function_keeps_its_name_and_answer() -> None:
    @only_our_errors()
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert (double(4), double.__name__, double.__doc__) == (8, "double", "Twice.")


def test_only_unknown_keywords_are_refused() -> None:
    """A TypeError of the function itself, and a missing argument, are programming errors."""

    @only_our_errors()
    def add(number: Any, *, more: Any = 1) -> Any:
        return number + more

    with pytest.raises(ost.QueryError, match="there is no option 'mor'") as caught:
        add(4, mor=2)
    assert isinstance(caught.value.__cause__, TypeError)
    for call in (lambda: add("x"), lambda: add("x", more=2), add, lambda: add(1, 2)):
        with pytest.raises(TypeError):
            call()


PUBLIC_CALLS = [
    *("match", "sql", "match_recognize", "pattern", "events", "summary", "summary_answer", "summary_answers"),
    *("paths", "graph", "path_query", "correlate", "explain", "finish_stream", "stream_state", "stream_metrics"),
]
PUBLIC_METHODS = {
    "Workload": ("__init__", "run", "__call__"),
    "WorkloadResult": ("finish",),
    "EventsQuery": ("__call__", "to_sql"),
    "MatchRecognizeQuery": ("__call__",),
    "StreamSummary": ("feed", "ask", "ask_shared", "ask_all", "exact", "to_bytes", "restore", "run", "__call__"),
    "CorrelationQuery": ("run", "run_all", "start", "finish", "__call__"),
    "PathsQuery": ("run", "__call__"),
    "GraphQuestions": ("__init__", "ask", "run"),
    "PatternQuery": ("__call__", "to_sql", "partition_by", "order_by", "define", "measures", "subset"),
}


def test_every_public_call_has_the_net() -> None:
    calls = [getattr(ost, name) for name in PUBLIC_CALLS]
    calls += [getattr(getattr(ost, kind), name) for kind, names in PUBLIC_METHODS.items() for name in names]
    assert [call for call in calls if not hasattr(call, "__wrapped__")] == []


def test_a_text_column_that_is_not_utf8() -> None:
    table = pa.table({"id": [1, 2], "k": pa.array([b"\xff", b"a"]).view(pa.string())})
    with pytest.raises(ost.MatchError) as caught:
        ost.match("ORDER BY id MEASURES count(*) AS n PATTERN (A+) DEFINE A AS k LIKE '%a'", table)
    assert caught.value.code == "TEXT_NOT_UNICODE"
    summary = ost.summary("a b", type="k", time="id", within=10, size=4)
    with pytest.raises(ost.MatchError) as caught:
        summary.feed(table)
    assert caught.value.code == "TEXT_NOT_UNICODE"


@pytest.mark.parametrize(
    "text", ["MEASURES id AS `\ud800` PATTERN (A)", "MEASURES 1 AS x PATTERN (A) DEFINE A AS k = '\udfff'"]
)
def test_a_lone_surrogate_has_a_caret_and_the_error_can_be_printed(text: str) -> None:
    for call in (lambda: ost.match(text, pa.table({"id": [1], "k": ["a"]})), lambda: ost.explain(text)):
        with pytest.raises(ost.QueryError) as caught:
            call()
        assert caught.value.code == "TEXT_NOT_UNICODE"
        assert "^" in str(caught.value)
        str(caught.value).encode()


def test_the_command_line_says_the_code_too() -> None:
    code, words = described(MemoryError())
    assert (code, words.partition(":")[0]) == (ExitCode.QUERY, "OUT_OF_MEMORY")


def test_tasks_of_spark_carry_foreign_errors_in_our_words() -> None:
    from ostinato.spark.streams.stream_buckets import rows_or_error

    def tables(error: Exception) -> Iterator[pa.Table]:
        yield pa.table({"x": [1]})
        raise error

    schema = pa.schema([("x", pa.int64())])
    *_, last = rows_or_error(tables(MemoryError()), schema)
    carried = last.column(1)[0].as_py()
    assert carried.startswith("OUT_OF_MEMORY: ")
    assert carried.endswith(" [ostinato]")
    with pytest.raises(KeyError):
        list(rows_or_error(tables(KeyError("x")), schema))
