"""How Ostinato calls pySigma: its errors become ours, and its regular expressions are compiled in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import re2
from sigma.exceptions import SigmaError, SigmaRuleNotFoundError
from sigma.policy import SigmaPolicy
from sigma.policy.regex_engine import RE2RegexEngine, RegexPattern

from ostinato.errors import OstinatoError, QueryError

_FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))


class _SilentRegexEngine(RE2RegexEngine):
    """Compiles as pySigma does. RE2 itself writes a pattern that it refuses to standard error, unescaped."""

    def __init__(self) -> None:
        """Keeps no module, which pySigma's constructor does: pySigma copies rules, and modules can't be copied."""

    def compile(self, pattern: str, flags: int = 0) -> RegexPattern:
        options = re2.Options()
        options.log_errors = False
        letters = "".join(letter for flag, letter in _FLAGS if flags & flag)
        compiled: RegexPattern = re2.compile(f"(?{letters}){pattern}" if letters else pattern, options)
        return compiled

    @property
    def error(self) -> type[Exception]:
        refused: type[Exception] = re2.error
        return refused


POLICY = SigmaPolicy(regex_engine=_SilentRegexEngine())


@contextmanager
def pysigma_errors() -> Iterator[None]:
    """Turns errors of pySigma into errors of ours. In a broken rule, a value of a wrong type raises any exception."""
    try:
        yield
    except OstinatoError:
        raise
    except RecursionError:
        raise QueryError("TOO_DEEP", "the rule nests too deeply") from None
    except SigmaRuleNotFoundError as error:
        raise QueryError("SIGMA_RULE_MISSING", one_line(error)) from None
    except SigmaError as error:
        raise QueryError("SIGMA_INVALID", f"pySigma refuses the rule: {one_line(error)}") from None
    except Exception as error:
        message = f"pySigma can't read the rule: {type(error).__name__}: {one_line(error)}"
        raise QueryError("SIGMA_INVALID", message) from error


def one_line(value: object) -> str:
    """The text of a value without line breaks."""
    return " ".join(str(value).split())
