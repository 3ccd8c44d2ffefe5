"""One entry of the change log of rules <-> JSON. The highest version of a rule wins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from ostinato.calls.options import a_text, known_names, one_of, shown, true_or_false, whole_number
from ostinato.clause.plan.typed_plan import MOST_PARTIAL_MATCHES
from ostinato.errors import QueryError, did_you_mean

Start = Literal["new", "kept"]
AtEnd = Literal["drop", "finish"]
FIELDS = ("id", "version", "text", "enabled", "options")
MOST_STATE_BYTES = 1 << 40
MOST_ERRORS = 1 << 30
MOST_VERSIONS = 2**63 - 1
"""Spark's BIGINT."""
MOST_ID_CHARACTERS = 200
MOST_TEXT_CHARACTERS = 1 << 16
"""Every bucket stores the texts of all rules."""


_LIMITS = ("max_partial_matches", "max_state_bytes", "max_errors")
"""The options that are numbers."""


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The options of one version of a rule."""

    start: Start | None = None
    """The rows that a version starts with. "new": rows that are released from now on. "kept": also the rows that the
    stream still holds. None: an added rule starts with new rows, a changed one with its kept rows."""
    at_end: AtEnd = "drop"
    """How open partial matches end when the rule is removed: silently, or as at the end of input."""
    max_partial_matches: int | None = None
    """The partial matches that may be tried from one row; None: the limit of the call."""
    max_state_bytes: int | None = None
    """The bytes of open rows in one bucket; None: the limit of the call."""
    max_errors: int | None = None
    """The rows of one micro-batch in one bucket that the rule may fail to evaluate; None: the limit of the call."""
    suppress: str | None = None
    """`1 hour by user`: at most one match of a key is shown in this time. It names the keys of the stream."""
    reason: str | None = None
    """For a removal: the reason why the rule is suspended. The removal is reported as `rule_suspended`."""

    def __post_init__(self) -> None:
        if self.start is not None:
            one_of("start", self.start, get_args(Start))
        one_of("at_end", self.at_end, get_args(AtEnd))
        if self.max_partial_matches is not None:
            whole_number("max_partial_matches", self.max_partial_matches, most=MOST_PARTIAL_MATCHES)
        if self.max_state_bytes is not None:
            whole_number("max_state_bytes", self.max_state_bytes, most=MOST_STATE_BYTES)
        if self.max_errors is not None:
            whole_number("max_errors", self.max_errors, most=MOST_ERRORS)
        if self.suppress is not None:
            _encodable("suppress", a_text("suppress", self.suppress, hint="1 hour by user"))
        if self.reason is not None:
            _encodable("reason", a_text("reason", self.reason, hint="the reason in words"))

    @staticmethod
    def read(values: object) -> RuleOptions:
        """The options from a mapping, from JSON text, or from None. Raises INVALID_OPTION."""
        if isinstance(values, str):
            try:
                values = json.loads(values) if values.strip() else None
            except (ValueError, RecursionError) as error:
                raise QueryError("INVALID_OPTION", f"the options of a rule aren't JSON: {error}") from None
        if values is None:
            return RuleOptions()
        if not isinstance(values, Mapping):
            hint = '{"start": "kept"}'
            raise QueryError("INVALID_OPTION", "the options of a rule are a JSON object", hint=hint)
        known_names(values, (option.name for option in fields(RuleOptions)))
        read: dict[str, Any] = {name: _number(value) if name in _LIMITS else value for name, value in values.items()}
        return RuleOptions(**read)

    def to_values(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        default = asdict(RuleOptions())
        return {name: value for name, value in asdict(self).items() if value != default[name]}


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One version of a rule: its text, or its removal."""

    id: str
    version: int
    text: str = ""
    enabled: bool = True
    options: RuleOptions = RuleOptions()

    def __post_init__(self) -> None:
        a_text("id", self.id, hint="the name of a rule", code="INVALID_RULE")
        _at_most("id", self.id, MOST_ID_CHARACTERS)
        whole_number("version", self.version, most=MOST_VERSIONS, code_below="INVALID_RULE")
        true_or_false("enabled", self.enabled)
        a_text("text", self.text, hint="the text of a query", code="INVALID_RULE", may_be_empty=not self.enabled)
        _at_most("text", self.text, MOST_TEXT_CHARACTERS)

    def to_json(self) -> str:
        """One line."""
        values = {"id": self.id, "version": self.version, "text": self.text, "enabled": self.enabled}
        return json.dumps({**values, "options": self.options.to_values()}, sort_keys=True, ensure_ascii=False)


def _at_most(name: str, value: str, most: int) -> None:
    if len(value) > most:
        raise QueryError("INVALID_RULE", f"{name} has {len(value):,} characters, and {most:,} is the most")
    _encodable(name, value)


def _encodable(name: str, value: str) -> None:
    """Raises INVALID_RULE for half a character, which JSON may hold and no output row can."""
    if not _is_encodable(value):
        raise QueryError("INVALID_RULE", f"{name} holds a surrogate, which is half of a character")


def _is_encodable(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


class UnreadableChange(QueryError):
    """A change that isn't one. It names the rule and the version as far as they are known."""

    rule: str | None = None
    version: int | None = None


def read_change(text: str) -> RuleChange:
    """A change from its JSON. Raises UnreadableChange."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableChange("INVALID_RULE", f"a change of a rule isn't JSON: {error}") from None
    if not isinstance(values, dict):
        raise UnreadableChange("INVALID_RULE", "a change of a rule is a JSON object")
    version = _number(values.get("version"))
    try:
        options = RuleOptions.read(values.get("options"))
    except QueryError as error:
        raise _unreadable(error, error.code, values.get("id"), version) from None
    try:
        _check_fields(values)
        return RuleChange(
            id=values.get("id"),  # type: ignore[arg-type]  # the class checks the types
            version=version,  # type: ignore[arg-type]
            text="" if values.get("text") is None else values["text"],
            enabled=True if values.get("enabled") is None else _flag(values["enabled"]),  # type: ignore[arg-type]
            options=options,
        )
    except QueryError as error:
        raise _unreadable(error, "INVALID_RULE", values.get("id"), version) from None


def _unreadable(error: QueryError, code: str, rule: object, version: object) -> UnreadableChange:
    unreadable = UnreadableChange(code, error.message, hint=error.hint)
    if isinstance(rule, str) and _is_encodable(rule):
        unreadable.rule = rule[:MOST_ID_CHARACTERS]
    if isinstance(version, int) and not isinstance(version, bool) and abs(version) <= MOST_VERSIONS:
        unreadable.version = version
    return unreadable


def _check_fields(values: Mapping[str, Any]) -> None:
    """Raises INVALID_RULE for a field that no change has: a misspelt `enabled` must not leave a rule on."""
    for name in values:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS) or f"its fields are {', '.join(FIELDS)}"
            raise QueryError("INVALID_RULE", f"a change of a rule has no field {shown(name)}", hint=hint)


def _number(value: object) -> object:
    """The whole number that a table or a topic has as a text or with a decimal point; all else unchanged."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 100:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _flag(value: object) -> object:
    """The boolean that a table or a topic has as a text; all else unchanged."""
    return {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value
