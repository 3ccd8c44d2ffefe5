"""`rules.yaml` or a schema file -> the settings that the rules of a folder share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ostinato.calls.options import a_text, column_names, shown
from ostinato.errors import did_you_mean
from ostinato.expressions import types as t
from ostinato.local.local_settings import local_settings
from ostinato.rule_files.problems import Problems
from ostinato.rule_files.rule_fields import check_fields
from ostinato.rule_files.rule_file import FolderSettings
from ostinato.rule_files.yaml_values import Document, file_fault

SETTINGS_FILE = "rules.yaml"
_FIELDS = ("keys", "time", "schema", "timezone", "description")
_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp")


def read_settings(document: Document, problems: Problems) -> FolderSettings:
    """The settings. Fields that are wrong are left out, and `problems` says why."""
    values = {} if document.value is None else document.value
    if not isinstance(values, dict):
        problems.add(file_fault(f"the settings are a mapping, not {shown(values)}", 1, hint="keys: user"), 1)
        return FolderSettings()
    check_fields(values, _FIELDS, document, problems)
    settings, schema, keys, time = t.Settings(), None, None, None
    if values.get("timezone") is not None:
        with problems.caught(document.line("timezone")):
            settings = local_settings(True, values["timezone"])
    with problems.caught(document.line("keys")):
        keys = None if values.get("keys") is None else column_names("keys", values["keys"])
    with problems.caught(document.line("time")):
        time = None if values.get("time") is None else column_names("time", values["time"])
    if values.get("schema") is not None:
        schema = read_schema(values["schema"], document, ("schema",), settings, problems)
    return FolderSettings(keys, time, schema, settings)


def read_schema(
    values: Any, document: Document, path: tuple[str, ...], settings: t.Settings, problems: Problems
) -> pa.Schema | None:
    """The columns and their types from a mapping: {user: string, ts: timestamp, amount: decimal(10, 2)}."""
    line = document.line(*path)
    if not isinstance(values, Mapping) or not values:
        problems.add(
            file_fault("a schema is a mapping from columns to types", line, hint="schema: {user: string}"), line
        )
        return None
    fields: dict[str, pa.Field] = {}
    for name, written in values.items():
        with problems.caught(document.line(*path, name)):
            kind = t.parse_type(a_text(f"the type of column {shown(name)}", written), settings)
            if kind is None:
                hint = did_you_mean(written, _TYPES) or "a type of Spark: string, bigint, decimal(10, 2), timestamp"
                raise file_fault(f"column {shown(name)} has an unknown type {shown(written)}", None, hint=hint)
            if name.lower() in fields:
                raise file_fault(f"two columns are named {shown(name)}, in any case", None)
            fields[name.lower()] = pa.field(name, t.normalise(kind, settings))
    return pa.schema(fields.values())
