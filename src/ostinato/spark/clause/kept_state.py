"""A stored definition of a clause + a changed clause -> the state for the changed one. Runs in workers: no pyspark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places
from ostinato.streams.bucket_state import BucketState, other_query
from ostinato.streams.step import fingerprint_of
from ostinato.streams.stored_definition import DEFINITION, STATE, changes_between, definition_changes
from ostinato.streams.stored_state import reading

if TYPE_CHECKING:
    from ostinato.clause.stream.changed_query import QueryChange
    from ostinato.spark.clause.clause_stream_task import ClauseBucketTask

OF_THE_QUERY = ("clause", "name of the input", "stored columns")
"""The values of a definition that may change while its rows stay."""


def kept_state(task: ClauseBucketTask, state: BucketState, stored: str) -> BucketState:
    """The state of the stored definition as one of the task's query. Raises STATE_OF_OTHER_QUERY if it can't go on."""
    fixed = fixed_changes(stored, task.definition)
    if fixed:
        raise other_query("; ".join(fixed))
    change = change_of_query(stored, task.definition, task.typed.plan, task.shipped)
    obstacles = change.obstacles()
    if obstacles:
        changes = definition_changes(stored, task.definition)
        raise other_query(f"{'; '.join(changes)}. The state can't go on: {'; '.join(obstacles)}")
    values = json.loads(stored)
    return change.carried_over(state, fingerprint_of([values["kind"], values[STATE]]), task.fingerprint)


def fixed_changes(stored: str, now: str) -> list[str]:
    """The differences between two definitions that no state goes on with."""
    changes = definition_changes(stored, now)  # raises for another format
    with reading(DEFINITION):
        then, after = json.loads(stored), json.loads(now)
        if then["kind"] != after["kind"]:
            return changes
        fixed = changes_between(_fixed(then[STATE]), _fixed(after[STATE]))
        # A stream that took in an archive needn't be given it again; another can't take it in later.
        archive_comes = after[STATE]["history"] and not then[STATE]["history"]
        return fixed + (["history: False became True"] if archive_comes else [])


def _fixed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in (*OF_THE_QUERY, "history")}


def change_of_query(stored: str, now: str, plan: MatchPlan, shipped: pa.Schema) -> QueryChange:
    """The change from the stored definition to that of this plan, over rows with the shipped columns."""
    from ostinato.clause.stream.changed_query import QueryChange, StoredQuery  # loads kernels

    def query(plan: MatchPlan, types: Mapping[str, str]) -> StoredQuery:
        return StoredQuery(plan, condition_places(len(plan.row_conditions)), types)

    with reading(DEFINITION):
        values = json.loads(stored)
        settings = Settings(**values["settings"])
        types = _types_of(values)
        clause = parse_clause(values["clause"], input_name=values["input_name"])
        bound = bind(replace(clause, ids=IdColumns(**values["ids"])), [*types], case_sensitive=settings.case_sensitive)
    return QueryChange(query(make_plan(bound), types), query(plan, _types_of(json.loads(now))), shipped, settings)


def _types_of(values: Mapping[str, Any]) -> dict[str, str]:
    """The types of a definition's columns: Spark's JSON, where the type of a simple column is its name."""
    fields = json.loads(values["columns"])["fields"]
    return {field["name"]: kind if isinstance(kind := field["type"], str) else json.dumps(kind) for field in fields}
