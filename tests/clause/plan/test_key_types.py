"""Types of ORDER BY keys that a plan refuses."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError


@pytest.mark.parametrize(("key", "named"), [("s", "key 's' is STRING"), ("lower(s)", "key is STRING")])
def test_within_names_a_key_as_the_user_wrote_it(key: str, named: str) -> None:
    text = f"ORDER BY {key} MEASURES count(*) AS n PATTERN (A+) WITHIN 1 DAY DEFINE A AS TRUE"
    with pytest.raises(QueryError, match=f"INVALID_WITHIN: .* the first ORDER BY {named}") as raised:
        ost.match(text, pa.table({"s": ["a"]}))
    assert "__ost" not in str(raised.value)
