"""Text of a YAML document -> plain values, and the line of each. Reads a safe part of YAML, with YAML 1.2's scalars.

The values are mappings, lists, texts, numbers, booleans and None. `on`, `no`, `12:30` and dates are texts, because only
`true` and `false` are booleans here. Anchors, aliases and tags are refused, and so are keys that stand twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ostinato.errors import EnvironmentFault, QueryError

if TYPE_CHECKING:
    from yaml.events import Event, ScalarEvent

Path = tuple[str | int, ...]
"""The way from the document to a value: names of fields, and positions in lists."""
MOST_BYTES = 1 << 20
_MOST_LEVELS = 32
_MOST_VALUES = 200_000
_NULL = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL = {".nan": "nan", ".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}
_LONGEST_NUMBER = 400
"""Digits of a whole number: Python refuses to read very long ones."""


class FileFault(QueryError):
    """An error in a rule file. `line` counts from 1; None: the whole file."""

    line: int | None = None


def file_fault(
    message: str, line: int | None, *, hint: str | None = None, code: str = "INVALID_RULE_FILE"
) -> FileFault:
    fault = FileFault(code, message, hint=hint)
    fault.line = line
    return fault


@dataclass(slots=True)
class Document:
    """The values of a document. `block_texts` has the paths of texts that are written as a block after `|`."""

    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    block_texts: set[Path] = field(default_factory=set)
    written: dict[Path, str] = field(default_factory=dict)
    """Numbers and booleans as they stand in the file."""

    def line(self, *path: str | int) -> int | None:
        """The line of a value, or of the nearest value around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_yaml(text: str, *, first_line: int = 1) -> Document:
    """The document. `first_line` is the line of the file at which the text begins. Raises FileFault.

    >>> read_yaml("title: on\\ntags: [a, 1.5, true, null]").value
    {'title': 'on', 'tags': ['a', 1.5, True, None]}
    >>> read_yaml("id: a\\nid: b")
    Traceback (most recent call last):
    ...
    ostinato.rule_files.yaml_values.FileFault: INVALID_RULE_FILE: the field 'id' stands twice, first in line 1
    """
    yaml = _yaml()
    reader = _Reader(first_line)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reader.take(event, type(event).__name__)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(filter(None, (error.context, error.problem)))
        line = None if mark is None else min(mark.line, text.count("\n")) + first_line
        raise file_fault(f"this isn't YAML: {words}", line, hint=_quoting_hint(words)) from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:  # a control character, or half a character
        raise file_fault(f"this isn't YAML: {' '.join(str(error).split())[:200]}", None) from None
    return reader.document


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        hint = "pip install 'ostinato[rules]'"
        raise EnvironmentFault("EXTRA_MISSING", "rule files need PyYAML", hint=hint) from None
    return yaml


def _quoting_hint(words: str) -> str | None:
    if "mapping values are not allowed" in words or "cannot start any token" in words:
        return "put a text with ': ', '#' or a special first character into quotes"
    return "indent with blanks" if "'\\t'" in words else None


@dataclass(slots=True)
class _Open:
    """A mapping or a list that hasn't ended. `key` is the field whose value comes next."""

    path: Path
    values: dict[str, Any] | list[Any]
    key: str | None = None

    def next_path(self) -> Path:
        return (*self.path, len(self.values) if isinstance(self.values, list) else self.key or "")


class _Reader:
    """Takes the events of PyYAML's parser. Nothing is nested in Python, so no document is too deep for the stack."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.document = Document()
        self.open: list[_Open] = []
        self.documents = self.count = 0

    def take(self, event: Event, kind: str) -> None:
        assert event.start_mark is not None
        line = event.start_mark.line + self.first_line
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise file_fault("the file has a second YAML document", line, hint="one file is one rule")
        elif kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            message = "anchors (&) and aliases (*) aren't allowed"
            raise file_fault(
                message, line, hint="write the value again; put a text that begins with & or * into quotes"
            )
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.open.pop()
        elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent"):
            self._value(event, kind, line)

    def _value(self, event: Any, kind: str, line: int) -> None:
        if event.tag is not None and event.tag != "!":
            message = f"the tag '{event.tag}' isn't allowed"
            raise file_fault(message, line, hint="put a text that begins with ! into quotes")
        self.count += 1
        if self.count > _MOST_VALUES:
            raise file_fault(f"the file has more than {_MOST_VALUES:,} values", line)
        around = self.open[-1] if self.open else None
        if around is not None and isinstance(around.values, dict) and around.key is None:
            around.key = self._key(event, kind, line, around)
            return
        path = () if around is None else around.next_path()
        self.document.lines.setdefault(path, line)
        value: Any = {} if kind == "MappingStartEvent" else []
        if kind == "ScalarEvent":
            value = _scalar(event, line)
            if event.style == "|":
                self.document.block_texts.add(path)
            if isinstance(value, bool | int | float):
                self.document.written[path] = str(event.value)
        if around is None:
            self.document.value = value
        elif isinstance(around.values, list):
            around.values.append(value)
        else:
            assert around.key is not None
            around.values[around.key] = value
            around.key = None
        if kind != "ScalarEvent":
            if len(self.open) >= _MOST_LEVELS:
                raise file_fault(f"values are nested more than {_MOST_LEVELS} levels deep", line)
            self.open.append(_Open(path, value))

    def _key(self, event: Any, kind: str, line: int, around: _Open) -> str:
        if kind != "ScalarEvent" or event.value == "":
            raise file_fault(
                "the name of a field is a text", line, hint="put { } or [ ] that belong to a text into quotes"
            )
        name = str(event.value)
        path = (*around.path, name)
        if name in around.values:
            raise file_fault(f"the field '{name}' stands twice, first in line {self.document.lines[path]}", line)
        self.document.lines[path] = line
        return name


def _scalar(event: ScalarEvent, line: int) -> Any:
    text = str(event.value)
    if not event.implicit[0]:  # in quotes, or a block
        return text
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _WHOLE.fullmatch(text):
        if len(text) > _LONGEST_NUMBER:
            raise file_fault("a number is too long", line)
        return int(text)
    if _NUMBER.fullmatch(text) and not _WHOLE.fullmatch(text.lstrip("+-").lstrip("0") or "0"):
        return float(text)
    return float(_SPECIAL[text.lower()]) if text.lower() in _SPECIAL else text
