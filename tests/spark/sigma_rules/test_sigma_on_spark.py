"""Spark evaluates the conditions of translated rules as the judge does, and computes the columns of aliases."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.sigma_rules.sigma_events import BASE_RULES, FILES, FOLDER, ORACLE, in_order, table_of, with_times

import ostinato as ost
from ostinato.reference.sigma_oracle import Alert
from ostinato.sigma_rules import read_sigma

VALUES: dict[str, list[Any]] = {
    "ts": list(range(200)),
    "user": ["ann", "bob", "Root", None],
    "target": ["ann", "bob"],
    "ip": ["10.0.0.1", "192.168.7.255", "192.168.8.0", None],
    "port": [22, 1024, 8080, 49999, 50000, None],
    "action": ["login", "LOGIN", "Logout", "reset", "RESET-all", None],
    "result": ["failure", "Success", None],
    "command": ["curl http://x", "Wget y", "wget x", "a*b", "c:\\tools\\x", "C:/", "it's", "is 100%_", "100", None],
}


def random_events(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return with_times(
        [{name: values[rng.integers(len(values))] for name, values in VALUES.items()} for _ in range(count)]
    )


def test_conditions_and_computed_columns(spark: SparkSession) -> None:
    events = random_events(300)
    frame = spark.createDataFrame(table_of(events))
    conditions = {rule.id: rule.query.split("EVENT AS ")[1] for rule in read_sigma(FOLDER / FILES[0], time="ts")}
    passed = frame.select("id", *(F.expr(condition).alias(name) for name, condition in conditions.items())).collect()
    for rule in BASE_RULES:
        name = rule["name"]
        wanted = [event["id"] for event in events if ORACLE.matches(name, event)]
        assert wanted and sorted(row["id"] for row in passed if row[name]) == wanted, name

    rules = {rule.id: rule for rule in read_sigma([FOLDER / name for name in FILES], time=("ts", "id"))}
    rule = rules["aliased"]
    computed = frame.withColumns({name: F.expr(sql) for name, sql in rule.computed_columns.items()})
    rows = computed.transform(ost.match_recognize(rule.query, keys=rule.keys, time=rule.time)).collect()
    found = [Alert((row[rule.keys[0]],), row["began"], row["ended"], row["events"]) for row in rows]
    wanted_alerts = ORACLE.alerts("aliased", events)
    assert wanted_alerts and in_order(found) == in_order(wanted_alerts)
