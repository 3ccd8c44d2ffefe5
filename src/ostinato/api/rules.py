"""`ost.rules` and `ost.write_rule`: many rules over one stream, changed while it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from ostinato.api.query import ColumnNames
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import column_names, one_of, whole_number
from ostinato.errors import QueryError
from ostinato.rows.arrow_tables import spark_dataframe
from ostinato.rule_sets.change_files import write_change
from ostinato.rule_sets.declaration import RuleLimits
from ostinato.streams.stream_settings import MOST_BUCKETS, Late

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEFAULT_BUCKETS = 16
"""Fewer than for a single query: every change goes to every bucket, and each bucket searches with every rule."""


@only_our_errors()
def rules(
    stream: DataFrame,
    rules: DataFrame | str | os.PathLike[str],
    *,
    keys: ColumnNames,
    time: ColumnNames,
    columns: ColumnNames = None,
    late: Late = "drop",
    buckets: int = DEFAULT_BUCKETS,
    max_rules: int = RuleLimits().max_rules,
    max_partial_matches: int = RuleLimits().max_partial_matches,
    max_state_bytes: int = RuleLimits().max_state_bytes,
) -> DataFrame:
    """Runs many MATCH_RECOGNIZE clauses over one stream. Rules can be added, changed and removed while it runs.

    `rules` is the folder that `ost.write_rule` writes to, or a DataFrame with the columns `id`, `version`, `text`, and
    perhaps `enabled` and `options`. A streaming DataFrame is a change log; a static one is read once, now. The highest
    version of a rule wins. A change applies to a whole micro-batch, before its rows.

    All rules share `keys` (PARTITION BY), `time` (ORDER BY; the first column has the watermark) and `columns`, the
    columns that rules may use (None: all). The output has one schema for all rules: `kind` (match, unmatched, error,
    late, rule_changed, rule_rejected, rule_suspended), `rule`, `version`, the keys, `began`, `ended`, `decided`,
    `measures` as JSON text, and `message`.

    `buckets` is fixed for the life of a checkpoint. `max_rules` bounds the rules in force, `max_partial_matches` and
    `max_state_bytes` what one rule may use in one bucket: a rule beyond them is suspended, and the others go on.

    >>> found = rules(events, "rules/", keys="user", time="ts", columns=["amount"])  # doctest: +SKIP
    """
    from ostinato.spark.rules.rules_stream import rules_stream

    spark_dataframe(stream, hint="ost.match(query, table) answers a clause in this process")
    if not stream.isStreaming:
        raise QueryError(
            "NOT_A_STREAM",
            "ost.rules runs over a streaming DataFrame, and this is a batch",
            hint="for a batch, run each clause: df.transform(ost.match_recognize(text))",
        )
    times = column_names("time", time)
    if not times:
        raise QueryError("INVALID_OPTION", "time names the column with the watermark", hint='time="ts"')
    return rules_stream(
        stream,
        rules,
        column_names("keys", keys),
        times,
        None if columns is None else column_names("columns", columns),
        late=one_of("late", late, get_args(Late)),
        buckets=whole_number("buckets", buckets, most=MOST_BUCKETS),
        limits=RuleLimits(max_rules, max_partial_matches, max_state_bytes),
    )


@only_our_errors()
def write_rule(
    folder: str | os.PathLike[str],
    id: str,
    text: str = "",
    *,
    version: int | None = None,
    enabled: bool = True,
    options: Mapping[str, Any] | None = None,
) -> int:
    """Writes a change of a rule into a folder that `ost.rules` reads, and returns its version.

    Every change is a new file, which is never edited. Without `version` it is the next one. `enabled=False` removes the
    rule. `options`: `start` ("new" or "kept" rows), `at_end` ("drop" or "finish"), `max_partial_matches`,
    `max_state_bytes`. The folder is one of this machine; elsewhere, any tool may write the same files.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_rule(folder, "dip", "PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)")
    1
    >>> write_rule(folder, "dip", enabled=False)
    2
    """
    return write_change(folder, id, text, version=version, enabled=enabled, options=options).version
