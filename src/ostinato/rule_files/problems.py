"""Errors and warnings about rule files: the file, the line, and an error with code, message, caret and hint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from ostinato.errors import EnvironmentFault, OstinatoError
from ostinato.rule_files.yaml_values import FileFault
from ostinato.rule_sets.rule_errors import as_error_of_rule

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or warning. `path` is relative to the folder; `line` counts from 1."""

    path: str
    line: int | None
    error: OstinatoError
    level: Level = "error"

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.level}: {self.error}"

    def sort_key(self) -> tuple[str, int]:
        return self.path, self.line or 0


class Problems:
    """Collects the problems of one file, so that one error doesn't hide the next.

    >>> problems = Problems("a.sql")
    >>> with problems.caught(3):
    ...     raise FileFault("INVALID_RULE_FILE", "severity can't be 7")
    >>> print(problems.found[0])
    a.sql:3: error: INVALID_RULE_FILE: severity can't be 7
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[Problem] = []

    def caught(self, line: int | None = None) -> Caught:
        """Turns an error that is raised inside into a problem at this line, or at the line that the error knows."""
        return Caught(self, line)

    def add(self, error: OstinatoError, line: int | None, level: Level = "error") -> None:
        own = error.line if isinstance(error, FileFault) else None
        self.found.append(Problem(self.path, own or line, error, level))

    @property
    def has_errors(self) -> bool:
        return has_errors(self.found)


@dataclass(frozen=True, slots=True)
class Caught:
    """A `with` block whose errors become problems, and after which the work goes on."""

    problems: Problems
    line: int | None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, EnvironmentFault):  # the latter concerns all files
            return False
        self.problems.add(as_error_of_rule(error), self.line)
        return True


def has_errors(problems: Iterable[Problem]) -> bool:
    return any(problem.level == "error" for problem in problems)
