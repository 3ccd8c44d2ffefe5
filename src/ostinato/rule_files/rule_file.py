"""The values of one rule file, and of the settings that the rules of a folder share. No reading here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from ostinato.errors import OstinatoError, Span
from ostinato.expressions.types import Settings
from ostinato.rule_sets.rule_changes import RuleOptions

Severity = Literal["informational", "low", "medium", "high", "critical"]
QueryKind = Literal["clause", "funnel", "event query"]


@dataclass(frozen=True, slots=True)
class RuleText:
    """The text of a query, and the line of the file at which it begins."""

    text: str
    first_line: int
    has_lines: bool = True
    """Whether each line of the text is one of the file. Otherwise `first_line` is the line of the field."""

    def in_file(self, error: OstinatoError) -> int:
        """Moves the caret of an error from the text to the file. Returns the line of the error."""
        if error.text is None or error.span is None:
            return self.first_line
        if self.text.count(error.text) != 1:  # a text that was generated from ours
            error.text = error.span = None
            return self.first_line
        start = self.text.index(error.text) + error.span.start
        if not self.has_lines:
            error.text, error.span = self.text, Span(start, start + error.span.end - error.span.start)
            return self.first_line
        above = self.first_line - 1
        error.span = Span(start, start + error.span.end - error.span.start).moved(above)
        error.text = "\n" * above + self.text
        return self.first_line + self.text.count("\n", 0, start)


@dataclass(frozen=True, slots=True)
class RuleTest:
    """Events, and the rows that the rule must find in them."""

    name: str
    events: Any
    """A list of objects, the text of a CSV file, or a path."""
    should_match: bool
    expected: tuple[dict[str, Any], ...] | None
    """None: any row will do."""
    tolerance: float | None
    line: int | None


@dataclass(frozen=True, slots=True)
class RuleFile:
    """One rule as its file has it. `keys` and `time` are None if the file leaves them to the folder or to the text."""

    path: str
    id: str
    query: RuleText
    title: str | None = None
    description: str | None = None
    severity: Severity | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    keys: tuple[str, ...] | None = None
    time: tuple[str, ...] | None = None
    enabled: bool = True
    suppress: str | None = None
    suppress_line: int | None = None
    options: RuleOptions = field(default_factory=RuleOptions)
    tests: tuple[RuleTest, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings that the rules of a folder share: `rules.yaml`."""

    keys: tuple[str, ...] | None = None
    time: tuple[str, ...] | None = None
    schema: pa.Schema | None = None
    settings: Settings = Settings()
