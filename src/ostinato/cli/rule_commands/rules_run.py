"""`ostinato rules run`: a folder of rules + files of events -> the rows of all rules, on Spark.

`rules_stream.py` has `--stream`. Both share the output's columns (`rule_sets/run_rows.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from ostinato.cli.failures import ExitCode, UsageFault, described
from ostinato.cli.files import Format, InputFile, check_output, parse_inputs, read_input
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import counted, print_problems
from ostinato.cli.run import show_rows
from ostinato.cli.terminal import say, visible
from ostinato.expressions.render import quote
from ostinato.rule_files.checks import CheckedFolder, check_folder
from ostinato.rule_files.rule_folder import RuleFolder, read_folder
from ostinato.rule_files.rule_groups import EventQueryRun, GroupedRules, RuleGroup, grouped
from ostinato.rule_sets.declaration import RuleLimits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ostinato.spark.rules.rules_stream import RulesTerms

TIMEZONE = "spark.sql.session.timeZone"
_SUSPENDED = "rule_suspended"


def run_rules(options: argparse.Namespace) -> int:
    """Prints or writes the rows. The exit code is 1 if a rule has an error or fails; the others run."""
    if options.stream:
        from ostinato.cli.rule_commands.rules_stream import run_rule_streams

        return run_rule_streams(options)
    if options.log is not None:
        raise UsageFault("LOG_NEEDS_STREAM", "only a stream follows a change log", hint="--stream, or leave --log out")
    (source,) = parse_inputs([f"input={options.input}"])
    output = None if options.output is None else check_output(options.output)
    folder = read_folder(options.folder)
    with progress_on_stderr()("starting Spark"):
        from ostinato.spark.session.quiet import without_error_log
        from ostinato.spark.session.session import local_session

        settings: dict[str, Any] = {
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # as in cli/run.py
            TIMEZONE: folder.settings.settings.timezone,
        }
        spark = local_session("ostinato rules run", **settings)
    with without_error_log():
        return _run(spark, source, folder, output, options)


def _run(
    spark: SparkSession, source: InputFile, folder: RuleFolder, output: Format | None, options: argparse.Namespace
) -> int:
    progress = progress_on_stderr()
    with progress("reading columns and checking rules"):
        checked, events = checked_over(read_input(spark, source), folder)
    operators, has_failed = _operators(events, checked)
    found: list[DataFrame] = []
    for number, (name, frame_of) in enumerate(operators, start=1):
        with progress(f"running operator {number} of {len(operators)}"):
            rows = _computed(name, frame_of)
        if rows is None:
            has_failed = True
        else:
            found.append(rows)
    if found:
        rows = reduce(lambda left, right: left.unionAll(right), found)
        has_failed |= _told_suspended(rows)
        show_rows(rows.orderBy("began", "rule", "match_id"), output, options)
        say(_summary(rows), sys.stderr)
    for rows in found:
        rows.unpersist()
    return ExitCode.QUERY if has_failed else ExitCode.DONE


_Operator = tuple[str, "Callable[[], DataFrame]"]


def _operators(events: DataFrame, checked: CheckedFolder) -> tuple[list[_Operator], bool]:
    """A name for messages and a plan for each operator, and whether some rule has an error. Prints the errors."""
    plan, has_errors = runnable(checked)
    groups = [(group_words(group), partial(_rows_of_group, events, group, checked)) for group in plan.groups]
    queries = [(visible(run.rule.file.path), partial(rows_of_run, events, run)) for run in plan.event_queries]
    return [*groups, *queries], has_errors


def runnable(checked: CheckedFolder) -> tuple[GroupedRules, bool]:
    """The operators of a folder, and whether some rule has an error. Prints the errors."""
    plan = grouped(checked)
    problems = [problem for problem in checked.problems if problem.level == "error"] + list(plan.problems)
    print_problems(problems, sys.stderr)
    if not plan.groups and not plan.event_queries:
        say("no rule of the folder can run" if problems else "no rule of the folder is enabled", sys.stderr)
    return plan, bool(problems)


def checked_over(events: DataFrame, folder: RuleFolder) -> tuple[CheckedFolder, DataFrame]:
    """The folder, checked over the input, and the input: with a schema in rules.yaml, only the columns named there."""
    from ostinato.spark.shipping.spark_input import SparkInput

    if (declared := folder.settings.schema) is not None:
        names = {name.lower() for name in declared.names}
        events = events.select(*(quote(name) for name in events.columns if name.lower() in names))
    schema = SparkInput.of(events, folder.settings.settings).arrow_schema(events.schema.fields)
    return check_folder(folder, schema), events


def terms_of(group: RuleGroup) -> RulesTerms:
    """The declaration of the group's operator. Its limits are those of `ost.rules`, but for the number of rules."""
    from ostinato.spark.rules.rules_stream import RulesTerms
    from ostinato.streams.stream_settings import DEFAULT_BUCKETS

    limits = RuleLimits(max_rules=max(RuleLimits().max_rules, len(group.rules)))
    return RulesTerms(group.keys, group.time, None, "drop", DEFAULT_BUCKETS, limits, ("clause", "funnel"))


def severities_of(checked: CheckedFolder) -> dict[str, str]:
    """By rule, for the rules that have one."""
    return {file.id: file.severity for file in checked.folder.rules if file.severity is not None}


def group_words(group: RuleGroup) -> str:
    """The group in words, for messages."""
    return visible(f"rules with the keys {', '.join(group.keys)}" if group.keys else "rules without keys")


def rows_of_run(events: DataFrame, run: EventQueryRun) -> DataFrame:
    """The rows of an event query, for a batch or a stream."""
    from ostinato.spark.rules.one_schema import rows_of_event_query

    file = run.rule.file
    return rows_of_event_query(events, run.request, file.id, run.keys, file.severity)


def _rows_of_group(events: DataFrame, group: RuleGroup, checked: CheckedFolder) -> DataFrame:
    from ostinato.spark.rules.one_schema import rows_of_rules
    from ostinato.spark.rules.rules_batch import rules_batch

    changes = [change.to_json() for change in group.changes()]
    return rows_of_rules(rules_batch(events, changes, terms_of(group)), group.keys, severities_of(checked))


def _computed(name: str, frame_of: Callable[[], DataFrame]) -> DataFrame | None:
    """The rows of one operator, computed and kept. None if it fails; the error is printed."""
    rows = None
    try:
        rows = frame_of().persist()
        rows.count()
        return rows
    except Exception as error:
        report_operator(name, error)
        if rows is not None:
            rows.unpersist()
        return None


def report_operator(name: str, error: Exception) -> None:
    """Prints the error of an operator; the others go on."""
    say(f"{name}: error: {described(error)[1]}\n", sys.stderr)


def _told_suspended(rows: DataFrame) -> bool:
    """Whether a rule was suspended: some of its rows are missing. Prints the reasons."""
    suspended = sorted(rows.where(f"kind = '{_SUSPENDED}'").select("rule", "message").distinct().collect())
    for rule, message in suspended:
        say(f"{visible(rule)}: error: some of its rows are missing: {message}\n", sys.stderr)
    return bool(suspended)


def _summary(rows: DataFrame) -> str:
    kinds = {row["kind"]: row["count"] for row in rows.groupBy("kind").count().collect()}
    by_kind: Iterator[str] = (f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    return f"{counted(sum(kinds.values()), 'row')}: {', '.join(by_kind)}" if kinds else "no rule found anything"
