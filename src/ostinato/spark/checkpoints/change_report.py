"""A clause and the checkpoint of a stream -> whether the stream can be restarted with this clause, in lines of text."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.spark.checkpoints.opened import definition_of
from ostinato.spark.clause.clause_options import ClauseOptions
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.clause.kept_state import change_of_query, fixed_changes
from ostinato.spark.clause.spark_plan import plan_query, with_key_columns
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.streams.stream_checkpoint import check_folder, open_checkpoint
from ostinato.streams.stored_definition import definition_changes
from ostinato.streams.stream_settings import StreamSettings


def change_report(
    clause: MatchRecognize, df: DataFrame, options: ClauseOptions | None, checkpoint: str | os.PathLike[str]
) -> list[str]:
    """The differences between the stored definition and this clause, and what happens to the state.

    Without options, the clause gets those of the stored definition.
    """
    spark: Any = df.sparkSession
    opened = open_checkpoint(spark, check_folder(spark, checkpoint))
    stored = definition_of(opened)
    if not isinstance(stored, ClauseDefinition):
        raise QueryError("INVALID_OPTION", f"checkpoint= is for clauses, and the stream of {opened.path} has none")
    clause = replace(clause, ids=stored.ids) if options is None else clause
    stream = stored.stream if options is None else options.stream
    limits = stored.limits if options is None else options.limits
    has_history = stored.has_history if options is None else options.history is not None
    settings = session_settings(df)
    query = plan_query(clause, with_key_columns(clause, df, settings), limits, settings)
    then, now = stored.to_json(), ClauseDefinition.of(query, stream, has_history=has_history).to_json()
    changes = definition_changes(then, now)
    if not changes:
        return ["The query is that of the checkpoint. The stream goes on with its state."]
    obstacles = fixed_changes(then, now)
    if not obstacles:
        types = {field.name: field.type for field in stored.query(spark).shipped.schema}
        kept = change_of_query(then, now, query.plan, query.shipped.schema)
        obstacles = [*_of_options(stream), *kept.obstacles(types)]
    lines = ["Differences from the query of the checkpoint:", *(f"- {change}" for change in changes)]
    if obstacles:
        lines += [
            "The state can't go on. The changed query needs a new checkpoint:",
            *(f"- {why}" for why in obstacles),
        ]
    else:
        lines += [
            'With on_change="keep", every key goes on from its first open row, with all rows of the state.',
            "Matches that the old query has decided stay as they are.",
        ]
    return lines


def _of_options(stream: StreamSettings) -> list[str]:
    """The options that are refused together with on_change="keep"."""
    options = {'emit="early"': stream.emit == "early", 'on_error="skip"': stream.on_error == "skip"}
    return [f'{name} and on_change="keep" don\'t go together' for name, is_used in options.items() if is_used]
