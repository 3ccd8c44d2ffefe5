"""Options -> the text of the query, from a file, stdin or the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ostinato.cli.failures import UsageFault


def query_text(options: argparse.Namespace) -> str:
    """The text, without a semicolon at its end."""
    if options.execute is not None:
        text = str(options.execute)
    elif options.query == "-":
        text = sys.stdin.read()
    else:
        text = _file_text(Path(options.query))
    text = text.strip().removesuffix(";").rstrip()
    if not text:
        raise UsageFault("EMPTY_QUERY", "the query is empty")
    return text


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "use -e for a query on the command line" if " " in str(path) else None
        raise UsageFault("QUERY_MISSING", f"there is no file {path}", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageFault("QUERY_UNREADABLE", f"can't read {path}: {reason}") from None
