"""One Sigma rule after its translation: plain values, without pySigma."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.errors import OstinatoError


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a rule isn't translated.

    >>> str(Problem("SIGMA_NOT_SUPPORTED", "keywords aren't supported", "name the field"))
    "SIGMA_NOT_SUPPORTED: keywords aren't supported (hint: name the field)"
    """

    code: str
    message: str
    hint: str | None = None

    @classmethod
    def of(cls, error: OstinatoError) -> Problem:
        """The problem that an error describes."""
        return cls(error.code, error.message, error.hint)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" (hint: {self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class TranslatedRule:
    """A rule for `ost.rules` and `ost.match`, or the problems of a Sigma rule that can't become one."""

    id: str
    title: str = ""
    description: str = ""
    severity: str | None = None
    """Sigma's level: informational, low, medium, high or critical."""
    tags: tuple[str, ...] = ()
    owner: str = ""
    """Sigma's author."""
    keys: tuple[str, ...] = ()
    """The columns of PARTITION BY: Sigma's group-by."""
    time: tuple[str, ...] = ()
    """The columns of ORDER BY."""
    columns: tuple[str, ...] = ()
    """The columns that the input must have: keys, times, and the fields that the rule reads."""
    computed_columns: Mapping[str, str] = field(default_factory=dict)
    """Keys that the input lacks: name -> the SQL expression that computes it from `columns`."""
    query: str = ""
    """The clause without PARTITION BY and ORDER BY; empty if there are problems."""
    problems: tuple[Problem, ...] = ()
    source: str = ""
    """The file that the rule was read from; empty for a text."""
