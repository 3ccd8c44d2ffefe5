"""`ost.stream_state`: the checkpoint of a running or stopped stream -> its open partial matches, or counts of keys."""

from __future__ import annotations

import os
from typing import get_args

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import one_of
from ostinato.errors import QueryError
from ostinato.spark.checkpoints.opened import definition_of
from ostinato.spark.clause.clause_finish import state_rows
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.clause.clause_stream_task import StateBy
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_finish import kept_keys, open_rules
from ostinato.spark.streams.stream_checkpoint import check_folder, open_checkpoint
from ostinato.spark.workloads.clauses_finish import open_clauses
from ostinato.spark.workloads.clauses_stream_definition import ClausesDefinition


@only_our_errors()
def stream_state(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    *,
    operator: int | None = None,
    by: StateBy | None = None,
) -> DataFrame:
    """The state of a stream as of the last committed batch, while the stream runs or after it stopped.

    For a clause, by default the open partial matches: partition keys, `waiting_since` (the time of the first row),
    `rows` so far, and the variables that may come `next`. Conditions over the run so far count as true, so `next` may
    name variables that can't follow. Rows that wait for the watermark aren't counted.

    `by="reason"` counts all keys in the state by the reason why they are kept: `reason`, `keys` and `rows`.
    `by="state"` counts the keys with an open partial match by the states of the automaton that may consume their next
    row: `state`, `variable` and `keys`. `ost.explain` shows the automaton. If a query has several clauses, `operator`
    selects one.

    Workloads have counts by state only. For clauses of a workload that are matched together, the result has
    the states of their merged plan: `state`, `variable` (that of the last row), the `queries` that it serves, and
    `partial_matches`. The state of `ost.rules` is counted by rule and state: `rule`, `version`, `status` (active or
    suspended), `state`, `variable` and `keys`. A row without a state counts all keys of its rule with an open partial
    match. With `by="reason"`, it is counted by `rule`, `version` and `reason`: a key counts once for each rule that
    keeps it, and rows that wait for the watermark belong to no rule.

    >>> stream_state(spark, "checkpoints/dips").orderBy("waiting_since").show()  # doctest: +SKIP
    >>> stream_state(spark, "checkpoints/dips", by="reason").show()  # doctest: +SKIP
    """
    if by is not None:
        one_of("by", by, get_args(StateBy))
    opened = open_checkpoint(spark, check_folder(spark, checkpoint), operator)
    definition = definition_of(opened)
    if isinstance(definition, ClauseDefinition):
        return state_rows(definition, opened, by or "key")
    if not isinstance(definition, RulesDefinition | ClausesDefinition):
        content, hint = definition.keeps
        raise QueryError("NO_STATE", f"the stream of {opened.path} keeps {content}", hint=hint)
    is_of_rules = isinstance(definition, RulesDefinition)
    if by == "key" or (by == "reason" and not is_of_rules):
        raise QueryError(
            "INVALID_OPTION",
            f"the state of {'rules' if is_of_rules else 'workloads'} isn't counted by {by}",
            hint='leave by= out, or by="state"',
        )
    if isinstance(definition, ClausesDefinition):
        return open_clauses(definition, opened)
    return kept_keys(definition, opened) if by == "reason" else open_rules(definition, opened)
