"""docs/reference.md lists every function of the evaluator and every error code of the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ostinato.clause.language.vocabulary import AGGREGATE_ALIASES, AGGREGATE_ARGUMENTS
from ostinato.expressions.functions.function_table import FUNCTIONS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "ostinato"

ERRORS = {"QueryError", "MatchError", "EnvironmentFault", "UsageFault", "OstinatoError"}
LOOKS_LIKE_A_CODE = re.compile(r"[A-Z]+(_[A-Z]+)+")
NOT_A_CODE = frozenset(
    """ANSI_HINT BINARY_DOUBLE BINARY_FLOAT DATATYPE_MISMATCH FIELD_NOT_FOUND JAVA_GATEWAY_EXITED JAVA_HOME
    MATCH_RECOGNIZE NAMED_PARAMETERS_NOT_SUPPORTED NO_COLOR NUMBA_BOUNDSCHECK NUMBA_CACHE_DIR NUMBA_CPU_FEATURES
    NUMBA_CPU_NAME NUMBA_OPT OSTINATO_PACKAGE_KERNELS OSTINATO_TRACEBACK PARSE_SYNTAX_ERROR PATH_NOT_FOUND
    PYSPARK_PYTHON SPARK_LOCAL_IP TIMESTAMP_LTZ TIMESTAMP_MICROS TIMESTAMP_NTZ TIMESTAMP_TZ TRY_CAST
    UNABLE_TO_INFER_SCHEMA UNRESOLVED_COLUMN UNRESOLVED_ROUTINE WRONG_NUM_ARGS XDG_CACHE_HOME""".split()
)
"""Environment variables, keywords, types and Spark's own conditions. A new constant that is no code goes here."""


def section(name: str) -> str:
    """The part of the page between two comments."""
    return PAGE.split(f"<!-- {name}:", 1)[1].split(f"<!-- end of {name} -->", 1)[0]


def codes_of(tree: ast.AST) -> Iterator[str]:
    """First arguments of our errors, and every other text that looks like a code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LOOKS_LIKE_A_CODE.fullmatch(node.value):
            yield node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def codes_in_source() -> set[str]:
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if "reference" not in path.parts[len(SOURCE.parts) :]:  # users never see errors of the oracle
            found |= set(codes_of(ast.parse(path.read_text(encoding="utf-8"))))
    return found - NOT_A_CODE


def test_every_error_code_is_listed_once() -> None:
    listed = re.findall(r"^\| `([A-Z_]+)` \|", section("errors"), re.MULTILINE)
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == codes_in_source()


def test_every_function_of_the_evaluator_is_listed_once() -> None:
    listed = re.findall(r"`([a-z0-9_]+)`", section("functions").split("\n", 1)[1])
    assert sorted(listed) == sorted(FUNCTIONS)


def test_every_aggregate_is_listed() -> None:
    text = PAGE.split("## Aggregates", 1)[1].split("## RUNNING", 1)[0]
    listed = set(re.findall(r"`([a-z_]+)`", text.split("DISTINCT is allowed", 1)[0]))
    assert listed == {*AGGREGATE_ARGUMENTS, *AGGREGATE_ALIASES}
