"""Texts that are too deep, too long or cut short: each has an error of ours, and in little time."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoError

ROWS = pa.table({"id": [1, 2, 3], "x": [1, 2, 3], "s": ["a" * 1_000] * 3, "arr": [[1], [2], [3]]})
CLAUSE = "ORDER BY id MEASURES id AS i PATTERN ({pattern}) {behind} DEFINE A AS {condition}"


def clause(condition: str = "x > 0", pattern: str = "A", behind: str = "") -> str:
    return CLAUSE.format(condition=condition, pattern=pattern, behind=behind)


NINES = "9" * 5_000
TEXTS = {
    "SELECT * FROM": "UNSUPPORTED_IN_PROCESS",
    "WITH a AS (" * 200 + "SELECT 1" + ")" * 200: "TOO_DEEP",
    clause(behind="MAXLENGTH ²"): "INVALID_MAXLENGTH",
    clause(behind="MAXLENGTH 1" + "0" * 25): "INVALID_MAXLENGTH",
    clause(behind=f"MAXLENGTH {NINES}"): "INVALID_LITERAL",
    clause("PREV(x, ²) > 1"): "SYNTAX_ERROR",
    clause(f"PREV(x, {NINES}) > 1"): "INVALID_LITERAL",
    clause(f"x > {NINES}"): "INVALID_LITERAL",
    clause("x > 1e99999999bd"): "INVALID_LITERAL",
    clause("x > 1e-99999999bd"): "INVALID_LITERAL",
    clause(" = ".join(["x"] * 300)): "TOO_DEEP",
    clause("x" + " IS NOT NULL" * 300): "TOO_DEEP",
    clause("x" + " IN (1)" * 300): "TOO_DEEP",
    clause("arr" + "[0]" * 300 + " > 1"): "TOO_DEEP",
    clause("arr" + ".a" * 300 + " > 1"): "TOO_DEEP",
    clause("(arr)" + ".a" * 300 + " > 1"): "TOO_DEEP",
    clause("x" + "::int" * 300 + " > 1"): "TOO_DEEP",
    clause("(" * 30 + "x" + ("+ 1" * 20 + ")") * 30 + " > 1"): "TOO_DEEP",
    clause(f"CAST(arr AS {'array<' * 2_000}int{'>' * 2_000}) IS NULL"): "UNSUPPORTED_TYPE",
    clause(f"CAST(x AS decimal({'9' * 900})) > 1"): "UNSUPPORTED_TYPE",
    clause(f"s RLIKE '{'(' * 2_000}a{')' * 2_000}'"): "INVALID_REGEX",
    clause("s RLIKE '(a)\\\\1'"): "INVALID_REGEX",
    clause("repeat('a', 2147483647) = s"): "TEXT_TOO_LONG",
    clause("space(2147483647) = s"): "TEXT_TOO_LONG",
    clause("lpad(s, 2147483647, 'x') = s"): "TEXT_TOO_LONG",
    clause("replace(s, 'a', repeat('b', 100000)) = s"): "TEXT_TOO_LONG",
    clause("regexp_replace(s, 'a', repeat('b', 100000)) = s"): "TEXT_TOO_LONG",
    clause("concat(repeat('a', 16000000), repeat(s, 1000)) = s"): "TEXT_TOO_LONG",
    clause("concat_ws(repeat('a', 16000000), s, s, s) = s"): "TEXT_TOO_LONG",
    clause("array_join(array(s, s, s), repeat('a', 16000000)) = s"): "TEXT_TOO_LONG",
    clause(f"x IN ({', '.join(map(str, range(10_001)))})"): "TOO_MANY_VALUES",
    clause(pattern="A{1000000}"): "PATTERN_TOO_LARGE",
    clause(pattern="(A?){5000,9000}"): "PATTERN_TOO_LARGE",
}


@pytest.mark.parametrize(("text", "code"), TEXTS.items(), ids=[text[:20] + text[-50:] for text in TEXTS])
def test_a_text_that_is_refused(text: str, code: str) -> None:
    with pytest.raises(OstinatoError) as error:
        ost.match(text, ROWS)
    assert error.value.code == code
    assert code == "PATTERN_TOO_LARGE" or "^" in str(error.value)


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (f"x IN ({', '.join(map(str, range(2, 10_000)))})", [2, 3]),
        (f"x NOT IN ({', '.join(map(str, range(2, 10_000)))}, NULL)", []),
        ("s LIKE '%a%a%a%a%a%b'", []),
        ("s RLIKE '(a+)+$'", [1, 2, 3]),
        ("s RLIKE '(a+)+b'", []),
        ("size(split(s, '(a|a)*b')) = 1", [1, 2, 3]),
        ("round(CAST(x AS double), 1000000000) = x", [1, 2, 3]),
        ("round(CAST(x AS double), -1000000000) = 0", [1, 2, 3]),
        ("round(CAST(x AS decimal(9,1)), -1000000000) = 0", [1, 2, 3]),
        (" OR ".join(["x = 3"] * 1_000), [3]),
    ],
)
def test_a_text_that_is_long_and_has_an_answer(condition: str, ids: list[int]) -> None:
    assert ost.match(clause(condition), ROWS)["i"].to_pylist() == ids


@pytest.mark.parametrize(
    ("path", "code"),
    [("r{²}", "SYNTAX_ERROR"), (f"r{{{NINES}}}", "INVALID_LITERAL"), ("r{1001}", "SYNTAX_ERROR")],
)
def test_a_path_that_is_refused(path: str, code: str) -> None:
    with pytest.raises(OstinatoError) as error:
        ost.paths([path], start="a").run(pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}))
    assert (error.value.code, "^" in str(error.value)) == (code, True)
