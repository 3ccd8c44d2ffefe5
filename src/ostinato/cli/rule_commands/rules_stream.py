"""`ostinato rules run --stream`: a folder of rules + a folder that receives files -> a folder of JSON lines.

Each operator is a streaming query with a folder of its own in `--checkpoint`. Rules reach it by a change log: that of
`--log`, or one in the checkpoint, which each start brings to the state of the rule files. So a restart with changed
files changes the rules and keeps their state.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.failures import ExitCode
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import counted
from ostinato.cli.rule_commands.rules_run import (
    TIMEZONE,
    checked_over,
    report_operator,
    rows_of_run,
    runnable,
    severities_of,
    terms_of,
)
from ostinato.cli.stream import check_stream_folders, read_stream, stream_input
from ostinato.cli.stream_progress import follow
from ostinato.cli.terminal import say
from ostinato.errors import QueryError
from ostinato.rule_files.applying import order_of_log, plan_changes, write_changes
from ostinato.rule_files.checks import CheckedFolder
from ostinato.rule_files.rule_folder import read_folder
from ostinato.rule_files.rule_groups import EventQueryRun, RuleGroup, rule_order
from ostinato.rule_sets.change_files import read_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_STATE, _CHANGES = "state", "changes"
"""In the folder of an operator: Spark's checkpoint, and the change log of its rules."""


def run_rule_streams(options: argparse.Namespace) -> int:
    """Runs until all files are read (`--once`), or until Ctrl-C. The exit code is 1 if a rule has an error or an
    operator fails; the others run."""
    check_stream_folders(options)
    source = stream_input(f"input={options.input}")
    folder = read_folder(options.folder)
    progress = progress_on_stderr()
    with progress("starting Spark"):
        from ostinato.spark.session.quiet import without_error_log
        from ostinato.spark.session.session import local_session
        from ostinato.spark.sinks.data_sources import register_sinks
        from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
        from ostinato.spark.streams.stream_metrics import stream_metrics

        settings: dict[str, Any] = {STATE_STORE: ROCKSDB, TIMEZONE: folder.settings.settings.timezone}
        spark = local_session("ostinato rules run --stream", **settings)
        register_sinks(spark)
    metrics = None if options.metrics is None else stream_metrics(spark, options.metrics)
    try:
        with without_error_log():
            with progress("reading columns and checking rules"):
                checked, events = checked_over(read_stream(spark, source), folder)
            operators, has_failed = _operators(events, checked, options)
            with progress("starting the streams"):
                queries = _started(operators, options)
            failures = follow(queries, report_operator) if queries else {}
            if metrics is not None:
                for query in queries.values():
                    metrics.catch_up(query)
    finally:
        if metrics is not None:
            spark.streams.removeListener(metrics)
    return ExitCode.QUERY if has_failed or failures or len(queries) < len(operators) else ExitCode.DONE


_Operators = dict[str, "Callable[[], DataFrame]"]


def _operators(events: DataFrame, checked: CheckedFolder, options: argparse.Namespace) -> tuple[_Operators, bool]:
    """A plan for each operator, by the name of its folder, and whether some rule has an error. Prints the errors."""
    plan, has_errors = runnable(checked)
    groups = {(group.keys, group.time): group for group in plan.groups}
    if options.log is not None:
        followed = _order_of_log(checked)
        groups.setdefault(followed, RuleGroup(*followed, ()))
    else:
        followed = None
    operators: _Operators = {}
    for order, group in groups.items():
        if order == followed:
            _tell_differences(group, checked, options.log)
            log = options.log
        else:
            log = options.checkpoint / group.name / _CHANGES
        operators[group.name] = partial(_rows_of_group, events, group, checked, log, options)
    for run in plan.event_queries:
        operators[run.name] = partial(_rows_of_event_query, events, run, options)
    return operators, has_errors


def _order_of_log(checked: CheckedFolder) -> tuple[tuple[str, ...], tuple[str, ...]]:
    keys, time = order_of_log(checked)
    if time is None:
        message = "nothing names the column with the times of the rules in the log"
        raise QueryError("TIME_COLUMN_MISSING", message, hint="time: ts, in rules.yaml")
    schema = checked.folder.settings.schema
    assert schema is not None
    return rule_order(keys or (), time, schema)


def _tell_differences(group: RuleGroup, checked: CheckedFolder, log: Path) -> None:
    """The stream runs the rules of the log, whatever the files say."""
    plan = plan_changes(group.alone(checked), read_log(log))
    changes = sum(line.change is not None for line in plan.lines)
    if changes:
        words = f"the rule files differ from the log in {counted(changes, 'rule')}, and the stream follows the log"
        say(f"{words}\nhint: ostinato rules apply", sys.stderr)


def _rows_of_group(
    events: DataFrame, group: RuleGroup, checked: CheckedFolder, log: Path, options: argparse.Namespace
) -> DataFrame:
    from ostinato.spark.rules.one_schema import rows_of_rules
    from ostinato.spark.rules.rules_stream import rules_stream

    if log != options.log:
        _bring_up_to_date(log, group, checked)
    late = events.withWatermark(group.time[0], options.delay)
    found = rules_stream(late, str(log.absolute()), terms_of(group))
    return rows_of_rules(found, group.keys, severities_of(checked))


def _rows_of_event_query(events: DataFrame, run: EventQueryRun, options: argparse.Namespace) -> DataFrame:
    return rows_of_run(events.withWatermark(run.time[0], options.delay), run)


def _bring_up_to_date(log: Path, group: RuleGroup, checked: CheckedFolder) -> None:
    """Writes what the files changed since the start before. Raises the error of a change that can't be written."""
    log.mkdir(parents=True, exist_ok=True)
    plan = plan_changes(group.alone(checked), read_log(log), remove_missing=True)
    for error in write_changes(plan, log).values():
        raise error


def _started(operators: _Operators, options: argparse.Namespace) -> dict[str, StreamingQuery]:
    """The queries that could be started. Prints the errors of the others."""
    queries = {}
    for name, frame_of in operators.items():
        try:
            writer = frame_of().writeStream.format("ostinato-json-lines").queryName(name)
            writer = writer.option("path", str(options.output.absolute()))
            writer = writer.option("checkpointLocation", str((options.checkpoint / name / _STATE).absolute()))
            queries[name] = (writer.trigger(availableNow=True) if options.once else writer).start()
        except Exception as error:
            report_operator(name, error)
    return queries
