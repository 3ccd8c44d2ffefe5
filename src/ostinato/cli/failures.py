"""An exception -> a message without a stack trace, and an exit code."""

from __future__ import annotations

import re
import sys
import traceback
from enum import IntEnum

from ostinato.calls.foreign_errors import error_of_ours
from ostinato.cli.terminal import say
from ostinato.errors import EnvironmentFault, OstinatoError, unwrap

_MOST_LINES = 12
_JAVA_CLASS = re.compile(r"^: (?:[a-z]\w*\.)+[A-Z]\w*: ")


class ExitCode(IntEnum):
    """Exit codes that scripts can rely on."""

    DONE = 0
    QUERY = 1
    USAGE = 2
    ENVIRONMENT = 3
    UNEXPECTED = 4
    INTERRUPTED = 130


class UsageFault(OstinatoError):
    """The command line is wrong: a file doesn't exist, a format is unknown, an input has no name."""


def report_failure(error: Exception, *, debug: bool) -> ExitCode:
    """Prints the error on stderr; with `debug`, also the stack trace."""
    if debug:
        say("".join(traceback.format_exception(error)), sys.stderr)
    code, message = described(error)
    say(message, sys.stderr)
    if code == ExitCode.UNEXPECTED and not debug:
        print("hint: this is probably a bug in ostinato; run again with --debug for a stack trace", file=sys.stderr)
    return code


def described(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code and the message for an error.

    >>> described(ValueError("no"))
    (<ExitCode.UNEXPECTED: 4>, 'UNEXPECTED: ValueError: no')
    """
    ours = unwrap(error) or error_of_ours(error)
    if ours is not None:
        return _code_of(ours), str(ours)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in ("pyspark", "pandas", "grpc"):
        fault = EnvironmentFault(
            "SPARK_MISSING", f"Python has no module named {error.name}", hint="pip install 'ostinato[spark]'"
        )
        return ExitCode.ENVIRONMENT, str(fault)
    if is_of_spark(error):
        return _code_of_spark(error), f"SPARK_ERROR: {spark_message(str(error))}"
    return ExitCode.UNEXPECTED, f"UNEXPECTED: {type(error).__name__}: {error}"


def _code_of(error: OstinatoError) -> ExitCode:
    if isinstance(error, UsageFault):
        return ExitCode.USAGE
    return ExitCode.ENVIRONMENT if isinstance(error, EnvironmentFault) else ExitCode.QUERY


def _code_of_spark(error: BaseException) -> ExitCode:
    # A JVM that dies at its start is a fault of the environment. All other errors of Spark concern query or data.
    condition = getattr(error, "getCondition", lambda: None)()
    return ExitCode.ENVIRONMENT if condition == "JAVA_GATEWAY_EXITED" else ExitCode.QUERY


def is_of_spark(error: BaseException) -> bool:
    """Whether Spark raised the error. Goes by module names, because pyspark may not be installed."""
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j")


def spark_message(text: str) -> str:
    """The message of Spark without plans, traces and class names.

    >>> spark_message("[TABLE_MISSING] No table t; line 1 pos 14;\\n'Project [*]\\n+- 'UnresolvedRelation [t]\\n")
    '[TABLE_MISSING] No table t; line 1 pos 14'
    >>> spark_message(
    ...     "An error occurred while calling o1.csv.\\n: org.apache.spark.SparkException: No file.\\n\\tat org"
    ... )
    'No file.'
    """
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(("'", "+-", "\tat ", "JVM stacktrace", "Driver stacktrace", "Traceback ", "Caused by:")):
            break
        if not line.startswith("An error occurred while calling "):
            lines.append(_JAVA_CLASS.sub("", line.rstrip()))
    words = "\n".join(lines[:_MOST_LINES]).rstrip().rstrip(";")
    return words or "Spark gave no message"
