"""The command line, `ostinato COMMAND`: arguments -> text, files and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from ostinato.cli.arguments import parse_arguments
from ostinato.cli.failures import ExitCode, report_failure
from ostinato.cli.terminal import say


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 query, 2 usage, 3 environment, 4 unexpected."""
    try:
        options = parse_arguments(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:  # argparse has printed its message or the help
        return stop.code if isinstance(stop.code, int) else ExitCode.USAGE
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", sys.stderr)
            return int(options.command(options))
    except BrokenPipeError:  # `ostinato run ... | head`: the reader has closed the pipe
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # otherwise Python reports the pipe again at exit
        return ExitCode.DONE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as error:
        return report_failure(error, debug=options.debug)
