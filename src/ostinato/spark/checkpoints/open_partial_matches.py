"""`ost.stream_state`: the checkpoint of a running or stopped stream -> its open partial matches, a row for each key."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError
from ostinato.spark.checkpoints.opened import definition_of
from ostinato.spark.clause.clause_finish import open_partial_matches
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_finish import open_rules
from ostinato.spark.streams.stream_checkpoint import check_folder, open_checkpoint


@only_our_errors()
def stream_state(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """The open partial matches as of the last committed batch: partition keys, `waiting_since` (the time of the first
    row), `rows` so far, and the variables that may come `next`.

    Conditions over the run so far count as true, so `next` may name variables that can't follow. Rows that wait for
    the watermark aren't counted. If a query has several clauses, `operator` selects one.

    For `ost.rules` the result has other columns: `rule`, `version`, `status` (active or suspended), `state` (a state of
    the rule's automaton), `next` (its variable) and `keys`, the number of keys with an open partial match there. A row
    without a state counts all keys of its rule with an open partial match.

    >>> stream_state(spark, "checkpoints/dips").orderBy("waiting_since").show()  # doctest: +SKIP
    """
    opened = open_checkpoint(spark, check_folder(spark, checkpoint), operator)
    definition = definition_of(opened)
    if isinstance(definition, RulesDefinition):
        return open_rules(definition, opened)
    if not isinstance(definition, ClauseDefinition):
        content, hint = definition.keeps
        raise QueryError("NO_STATE", f"the stream of {opened.path} keeps {content}", hint=hint)
    return open_partial_matches(definition, opened)
