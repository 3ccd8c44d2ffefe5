"""A value of a parameter keeps its type and never becomes anything but a value."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.python_literals import python_literal
from ostinato.expressions.render import render_expression

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**38) + 1, 10**38 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
    | st.dates()
    | st.datetimes(timezones=st.just(datetime.UTC))
    | st.timedeltas(datetime.timedelta(days=-10_000), datetime.timedelta(days=10_000))
)


def value_of(text: str) -> Any:
    return evaluate(parse_expression(text), lambda node: None, 1)[0].as_py()


@given(VALUES)
def test_the_text_of_a_literal_is_one_literal_with_the_value(value: Any) -> None:
    text = render_expression(python_literal(value))
    assert value_of(text) == value
    assert "${" not in text  # Spark replaces ${name} by a setting


def test_types() -> None:
    texts = [render_expression(python_literal(value)) for value in (5, 2**31, 2**63, 1.0, Decimal("1.50"))]
    assert texts == ["5", "2147483648", "9223372036854775808BD", "1.0D", "1.50BD"]
    assert render_expression(python_literal(np.float32(0.5))) == "0.5D"
    assert math.isnan(value_of(render_expression(python_literal(math.nan))))
    assert value_of(render_expression(python_literal([1, 2]))) == [1, 2]


@pytest.mark.parametrize("value", [object(), 10**38, Decimal("NaN"), Decimal("1e-50"), "\ud800", {1}, [object()]])
def test_values_without_a_literal_are_refused(value: Any) -> None:
    with pytest.raises(QueryError, match="INVALID_PARAMETER"):
        python_literal(value)
