"""`ost.rules` and `ost.write_rule`: many rules over one stream, changed while it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from ostinato.api.query import ColumnNames
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, column_names, one_of, shown, whole_number
from ostinato.errors import QueryError
from ostinato.rows.arrow_tables import spark_dataframe
from ostinato.rule_sets.change_files import write_change
from ostinato.rule_sets.declaration import RuleKind, RuleLimits
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, MOST_BUCKETS, Late, silence_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@only_our_errors()
def rules(
    stream: DataFrame,
    rules: DataFrame | str | os.PathLike[str],
    *,
    keys: ColumnNames,
    time: ColumnNames,
    columns: ColumnNames = None,
    kinds: RuleKind | Sequence[RuleKind] = "clause",
    late: Late = "drop",
    buckets: int = DEFAULT_BUCKETS,
    forget_keys_after: str | None = None,
    max_rules: int = RuleLimits().max_rules,
    max_partial_matches: int = RuleLimits().max_partial_matches,
    max_state_bytes: int = RuleLimits().max_state_bytes,
    max_errors: int = RuleLimits().max_errors,
) -> DataFrame:
    """Runs many MATCH_RECOGNIZE clauses over one stream. Rules can be added, changed and removed while it runs.

    `rules` is the folder that `ost.write_rule` writes to, or a DataFrame with the columns `id`, `version`, `text`, and
    perhaps `enabled` and `options`. A streaming DataFrame is a change log; a static one is read once, now. The highest
    version of a rule that isn't wrong is in force. A change applies to a whole micro-batch, before its rows.

    All rules share `keys` (PARTITION BY), `time` (ORDER BY; the first column has the watermark) and `columns`, the
    columns that rules may use (None: all). The output has one schema for all rules: `kind` (match, suppressed,
    unmatched, error, late, rule_changed, rule_rejected, rule_suspended), `rule`, `version`, `match_id`, the keys,
    `began`, `ended`, `decided`, `measures` as JSON text, and `message`.

    `buckets` and `forget_keys_after` are fixed for the life of a checkpoint. A key that is silent for longer than
    `forget_keys_after` ("30 days") ends for all rules, and later begins anew.

    `max_rules` bounds the rules in force. `max_partial_matches`, `max_state_bytes` and `max_errors` (rows of a
    micro-batch that can't be evaluated) bound what one rule may do in one bucket: a rule beyond them is suspended, and
    the others go on. A rule's options may only lower them.

    >>> found = rules(events, "rules/", keys="user", time="ts", columns=["amount"])  # doctest: +SKIP
    """
    from ostinato.spark.rules.rules_stream import RulesTerms, rules_stream

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
    silence_us(forget_keys_after)  # raises for another value
    terms = RulesTerms(
        column_names("keys", keys),
        times,
        None if columns is None else column_names("columns", columns),
        late=one_of("late", late, get_args(Late)),
        buckets=whole_number("buckets", buckets, most=MOST_BUCKETS),
        limits=RuleLimits(max_rules, max_partial_matches, max_state_bytes, max_errors),
        kinds=_kinds(kinds),
        forget_keys_after=forget_keys_after,
    )
    return rules_stream(stream, rules, terms)


def _kinds(kinds: Any) -> tuple[RuleKind, ...]:
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, Sequence) else ()
    if not names:
        hint = 'kinds=("clause", "funnel")'
        raise QueryError("INVALID_OPTION", f"kinds is a kind of query, or several, not {shown(kinds)}", hint=hint)
    if "event query" in names:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "event queries can't be rules: their windows and aggregates have state of their own",
            hint="run each one as its own stream: df.transform(ost.events(...))",
        )
    return tuple(dict.fromkeys(one_of("kinds", name, get_args(RuleKind)) for name in names))


@only_our_errors()
def write_rule(
    folder: str | os.PathLike[str],
    id: str,
    text: str = "",
    *,
    version: int | None = None,
    enabled: bool = True,
    options: Mapping[str, str | int] | None = None,
) -> int:
    """Writes a change of a rule into a folder that `ost.rules` reads, and returns its version.

    Every change is a new file, which is never edited. Without `version` it is the next one. `enabled=False` removes the
    rule. `options`: `start` ("new" or "kept" rows), `at_end` ("drop" or "finish"), `suppress` ("1 hour by user": at
    most one match of a key in this time), `max_partial_matches`, `max_state_bytes` and `max_errors`, which lower limits
    of the call, and `reason` (of a removal: it is a suspension).
    The folder is one of this machine; elsewhere, any tool may write the same files.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_rule(folder, "dip", "PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)")
    1
    >>> write_rule(folder, "dip", enabled=False)
    2
    """
    return write_change(folder, id, text, version=version, enabled=enabled, options=options).version


@only_our_errors()
def suspend_rule(folder: str | os.PathLike[str], id: str, reason: str) -> int:
    """Suspends a rule from its next micro-batch on, by a change in the folder, and returns the change's version.

    A limit of time works like this: a program follows `ost.stream_metrics(spark).rule_seconds(query)` and suspends a
    rule that takes too long. The decision stands in the change log, so a replay of the stream decides the same. The
    stream reports it as a row of kind `rule_suspended`. The next version of the rule ends the suspension.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_rule(folder, "slow", "PATTERN (A B* C) DEFINE A AS price > 10, C AS price < 5")
    1
    >>> suspend_rule(folder, "slow", "it took 3.2 s in one micro-batch")
    2
    """
    options = {"reason": a_text("reason", reason, hint="the reason in words")}
    return write_change(folder, id, "", version=None, enabled=False, options=options).version
