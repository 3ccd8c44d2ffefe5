"""Planning a small query waits for the JVM more than it computes, so its questions to the JVM are counted here."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession

import ostinato as ost

CLAUSE = """PARTITION BY id ORDER BY price MEASURES FIRST(A.price) AS low, LAST(price) AS high PATTERN (A B+ C)
    DEFINE A AS price < {limit}, B AS B.price > A.price AND price > PREV(price), C AS C.price < A.price + {limit}"""
MOST_ROUND_TRIPS = 75
"""73 with PySpark 4.3, of which mapInArrow makes 38."""


def test_planning_asks_the_jvm_few_times(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = spark.createDataFrame([(1, 2.0)], "id long, price double")
    rows.transform(ost.match_recognize(CLAUSE.format(limit=1)))  # the first query over a DataFrame asks for its size
    commands: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: ClientServerConnection, command: str, *more: Any) -> Any:
        if not command.startswith("m\n"):  # py4j tells the JVM about garbage whenever Python collects it
            commands.append(command)
        return send(self, command, *more)

    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    rows.transform(ost.match_recognize(CLAUSE.format(limit=2)))
    assert 0 < len(commands) <= MOST_ROUND_TRIPS, commands
