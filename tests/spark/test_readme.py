"""The README's query and the window functions beside it give the same rows."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession
from tests.test_readme import README

import ostinato as ost
from ostinato.report.sample_events import make_trades


def test_the_clause_and_the_window_functions_agree(spark: SparkSession) -> None:
    clause, windows = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
    trades = spark.createDataFrame(make_trades(60_000, seed=7))
    found, expected = (ost.sql(text, trades=trades).collect() for text in (clause, windows))
    assert len(found) > 50
    assert sorted(found) == sorted(expected)
