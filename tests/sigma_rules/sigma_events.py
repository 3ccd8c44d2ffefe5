"""The rules of the tests, and random events for them. Few values, so that rules match often; ties and NULLs."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from hypothesis import strategies as st

import ostinato as ost
from ostinato.reference.sigma_oracle import Alert, SigmaOracle
from ostinato.sigma_rules import TranslatedRule

FOLDER = Path(__file__).parent
FILES = ("base_rules.yml", "correlations.yml")
BASE_RULES, CORRELATIONS = (list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))) for name in FILES)
ORACLE = SigmaOracle({rule["name"]: rule for rule in (*BASE_RULES, *CORRELATIONS)}, "ts", ("id",))

SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "id": pa.int64(),
        "user": pa.string(),
        "target": pa.string(),
        "ip": pa.string(),
        "port": pa.int32(),
        "action": pa.string(),
        "result": pa.string(),
        "command": pa.string(),
    }
)
START = datetime(2025, 1, 1, 12)
USERS = st.sampled_from(["ann", "ann", "Ann", "bob", "Root", None])
EVENTS = st.fixed_dictionaries(
    {
        "ts": st.one_of(st.integers(0, 40), st.integers(0, 40), st.none()),
        "user": USERS,
        "target": USERS,
        "ip": st.sampled_from(["10.0.0.1", "10.0.0.1", "192.168.7.255", "192.168.8.0", None]),
        "port": st.sampled_from([22, 1024, 8080, 49999, 50000, None]),
        "action": st.sampled_from(["login", "login", "LOGIN", "Logout", "reset", "RESET-all", None]),
        "result": st.sampled_from(["failure", "Failure", "success", None]),
        "command": st.sampled_from(
            [
                "curl http://x",
                "CURL ftp",
                "wget x",
                "Wget y",
                "a*b",
                "c:\\tools\\x",
                "C:/",
                "it's",
                "is 100%_",
                "100",
                None,
            ]
        ),
    }
)


def with_times(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with a number each, and times in steps of 15 seconds; a minute's last step is a second longer."""
    return [
        {**event, "id": number, "ts": None if event["ts"] is None else START + timedelta(seconds=15 * event["ts"])}
        for number, event in enumerate(drawn)
    ]


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events, schema=SCHEMA)


def with_computed_columns(rule: TranslatedRule, table: pa.Table) -> pa.Table:
    """The table with the columns that a rule asks for, computed by Ostinato's evaluator."""
    if not rule.computed_columns:
        return table
    measures = ", ".join(f"{sql} AS `{name}`" for name, sql in rule.computed_columns.items())
    return ost.match(f"MEASURES {measures} ALL ROWS PER MATCH PATTERN (E)", table)


def alerts_of(rule: TranslatedRule, table: pa.Table) -> list[Alert]:
    """The rows of the rule's clause, run in process."""
    clause = ost.match_recognize(rule.query, keys=rule.keys, time=rule.time)
    rows = ost.match(clause, with_computed_columns(rule, table)).to_pylist()
    return [Alert(tuple(row[key] for key in rule.keys), row["began"], row["ended"], row["events"]) for row in rows]


def in_order(alerts: list[Alert]) -> list[Alert]:
    return sorted(alerts, key=lambda alert: (repr(alert.key), alert.ended))
