"""Translated rules in the core of `ost.rules`: the alerts are those of the judge, however the rows arrive."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from tests.rule_sets.rule_streams import RuleStream, of_kind, rule
from tests.sigma_rules.sigma_events import FILES, FOLDER, ORACLE, SCHEMA, in_order, table_of, with_times

from ostinato.reference.sigma_oracle import Alert
from ostinato.sigma_rules import read_sigma

BY_USER = tuple(
    rule
    for rule in read_sigma([FOLDER / name for name in FILES], time=("ts", "id"))
    if rule.keys == ("user",) and "correlation" in ORACLE.rules[rule.id]
)
VALUES: dict[str, list[Any]] = {
    "ts": list(range(400)),
    "user": ["ann", "bob", "Root", None],
    "target": ["ann", "bob"],
    "ip": ["10.0.0.1", "192.168.8.0", None],
    "port": [22, 8080],
    "action": ["login", "login", "Logout", "reset"],
    "result": ["failure", "success", None],
    "command": ["wget x", "C:/", None],
}


def random_events(count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    drawn = [{name: values[rng.integers(len(values))] for name, values in VALUES.items()} for _ in range(count)]
    return with_times(sorted(drawn, key=lambda event: event["ts"]))


def parsed(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


@pytest.mark.parametrize("pieces", [1, 7])
def test_one_operator_runs_all_rules_of_one_key(pieces: int) -> None:
    events = random_events(400, seed=3)
    stream = RuleStream(SCHEMA, keys=("user",), time=("ts", "id"))
    output = stream.step(None, 0, *(rule(one.id, one.query) for one in BY_USER))
    for part in np.array_split(np.arange(len(events)), pieces):
        rows = [events[i] for i in part]
        watermark = int(rows[-1]["ts"].replace(tzinfo=UTC).timestamp() * 1_000_000) - 1
        output += stream.step(table_of(rows), watermark)
    output += stream.finish()
    assert len(of_kind(output, "rule_changed")) == len(BY_USER)
    assert {row["kind"] for row in output} == {"match", "rule_changed"}
    for one in BY_USER:
        found = [
            Alert((row.get("user"),), parsed(measures["began"]), parsed(measures["ended"]), measures["events"])
            for row in of_kind(output, "match")
            if row["rule"] == one.id
            for measures in [json.loads(row["measures"])]
        ]
        wanted = ORACLE.alerts(one.id, events)
        assert wanted, f"{one.id} raises no alert: the test says nothing about it"
        assert in_order(found) == in_order(wanted), one.id
