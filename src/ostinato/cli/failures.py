"""Whatever was raised -> a message without a stack trace, and an exit code."""

from __future__ import annotations

import re
import sys
import traceback
from enum import IntEnum

from ostinato.calls.foreign_errors import error_of_ours
from ostinato.errors import EnvironmentFault, OstinatoError, unwrap

_MOST_LINES = 12
_JAVA_CLASS = re.compile(r"^: (?:[a-z]\w*\.)+[A-Z]\w*: ")


class ExitCode(IntEnum):
    """What scripts may rely on."""

    DONE = 0
    QUERY = 1
    USAGE = 2
    ENVIRONMENT = 3
    UNEXPECTED = 4
    INTERRUPTED = 130


class UsageFault(OstinatoError):
    """The command line asks for something that isn't there: a file, a format, an input's name."""


def report_failure(error: Exception, *, debug: bool) -> ExitCode:
    """Say on stderr what went wrong; with `debug`, also where."""
    if debug:
        traceback.print_exception(error)
    code, message = described(error)
    print(message, file=sys.stderr)
    if code == ExitCode.UNEXPECTED and not debug:
        print("hint: this looks like a defect of ostinato; run again with --debug to see where", file=sys.stderr)
    return code


def described(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code and the words for an error.

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
    # The JVM that dies while it starts is the machine's matter; everything else Spark says is about query or data.
    condition = getattr(error, "getCondition", lambda: None)()
    return ExitCode.ENVIRONMENT if condition == "JAVA_GATEWAY_EXITED" else ExitCode.QUERY


def is_of_spark(error: BaseException) -> bool:
    """Whether Spark raised it; told by name, because pyspark may not be installed."""
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j")


def spark_message(text: str) -> str:
    """Spark's own words without its plans, traces and class names.

    >>> spark_message("[TABLE_MISSING] No table t; line 1 pos 14;\\n'Project [*]\\n+- 'UnresolvedRelation [t]\\n")
    '[TABLE_MISSING] No table t; line 1 pos 14'
    >>> spark_message(
    ...     "An error occurred while calling o1.csv.\\n: org.apache.spark.SparkException: No file.\\n\\tat org"
    ... )
    'No file.'
    """
    kept: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(("'", "+-", "\tat ", "JVM stacktrace", "Driver stacktrace", "Traceback ", "Caused by:")):
            break
        if not line.startswith("An error occurred while calling "):
            kept.append(_JAVA_CLASS.sub("", line.rstrip()))
    words = "\n".join(kept[:_MOST_LINES]).rstrip().rstrip(";")
    return words or "Spark gave no message"
