"""What the hints name exists: functions of Spark, and types that CAST takes."""

from __future__ import annotations

import re

import pytest

from ostinato.clause.language.vocabulary import aggregate_name
from ostinato.errors import QueryError
from ostinato.expressions import foreign_names
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.functions.function_table import FUNCTIONS, SPARK_ONLY
from ostinato.expressions.type_texts import read_type
from ostinato.expressions.types import Settings, parse_type

SPARK_KNOWS = {"bit_and", "parse_json", "struct", "try_cast"}
"""Functions with syntax of their own, and those that Spark alone knows."""


@pytest.mark.parametrize("table", [foreign_names._FUNCTIONS, foreign_names._WORDS, foreign_names._OTHER_ARGUMENTS])
def test_hints_name_functions_of_spark(table: dict[str, str]) -> None:
    named = {name for hint in table.values() for name in re.findall(r"\b([a-z_0-9]+)\(", hint)}
    unknown = {name for name in named if name not in FUNCTIONS | dict.fromkeys(SPARK_ONLY) and not aggregate_name(name)}
    assert unknown <= SPARK_KNOWS


def test_functions_that_run_in_process_have_no_hint() -> None:
    assert not set(foreign_names._FUNCTIONS) & set(FUNCTIONS)


@pytest.mark.parametrize("kind", foreign_names._TYPES)
def test_types_are_refused_for_types_that_cast_takes(kind: str) -> None:
    text = {"TIMESTAMP WITH": "TIMESTAMP WITH TIME ZONE"}.get(kind, f"{kind}3)" if kind.endswith("(") else kind)
    with pytest.raises(QueryError) as refused:
        read_type(Cursor(text))
    written = re.match(r"write ([A-Z_]+(\([\d, ]+\))?)", refused.value.hint or "")
    assert written is not None
    assert written[1] == "STRUCT" or parse_type(written[1], Settings()) is not None
