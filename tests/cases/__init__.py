"""TOML files -> conformance cases that every engine runs. No engine here.

A file holds three kinds of entries:

`[[table]]` gives an input a name: `name`, `columns` (Spark DDL), `rows` (one line per row, cells separated by `|`).

`[[case]]` is one clause on one input and what must come out: `columns` and `rows`, or `table`; `clause`; and either
`expect_columns` with `expect`, or `error`. Rows are compared as a multiset unless `ordered = true`. Optional: `about`
(the rule it pins down), `input_name` (the name of the input table), `arrival_order = true` (the clause has no ORDER BY,
so the order of the rows as written counts).

`[[letters]]` is the short form for questions about the pattern alone: `rows = "AABx"` are rows with ids 1, 2, ... and
a column `kind`; each variable of `pattern` is defined as `kind = '<its letter>'` unless it is in `free` (undefined) or
in `define`; `expect = "1:AAB 4:"` lists the matches as first id and labels, an empty match without labels (its row
shows the id only), rows left out by an exclusion in parentheses.

A cell is NULL, a bare text (trimmed), a quoted 'text' (kept as it is, '' for a quote) or a list `[1, NULL, 3]`. Cells
of `expect` are read by the type written in `expect_columns` (`total bigint`), else by that of the input column of the
same name, else by their look.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

FOLDER = Path(__file__).parent
RUN_TIME_CODES = frozenset({"SKIP_TO_FIRST_ROW", "SKIP_TARGET_MISSING"})
"""Codes of MatchError: only rows can show them. All others are codes of QueryError."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and its Spark type as DDL."""

    name: str
    type_text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One clause on one input, with either the rows or the error code that must come out."""

    name: str
    file: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    clause: str
    expect_columns: tuple[str, ...] = ()
    expect_types: tuple[str | None, ...] = ()
    expect: tuple[Row, ...] | None = None
    error: str | None = None
    about: str = ""
    ordered: bool = False
    arrival_order: bool = False
    input_name: str | None = None

    @property
    def id(self) -> str:
        """The name under which test runners list the case."""
        return f"{self.file}: {self.name}"

    @property
    def fails_while_running(self) -> bool:
        """Whether the expected error is one that only rows can show."""
        return self.error in RUN_TIME_CODES

    def table(self) -> pa.Table:
        """The input as an Arrow table, in the order of the rows as written."""
        arrays = [
            pa.array([row[at] for row in self.rows], type=arrow_type(column.type_text))
            for at, column in enumerate(self.columns)
        ]
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.columns])

    def difference(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str | None:
        """What differs between the expectation and an engine's output; None when nothing does."""
        if self.expect is None:
            return f"expected the error {self.error}, got rows"
        if tuple(names) != self.expect_columns:
            return f"columns: expected {list(self.expect_columns)}, got {list(names)}"
        wanted, found = [_comparable(row) for row in self.expect], [_comparable(row) for row in rows]
        if not self.ordered:
            wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
        if wanted == found:
            return None
        missing, surplus = _leftover(wanted, found), _leftover(found, wanted)
        return f"missing rows {missing}, surplus rows {surplus}" if missing or surplus else "the rows' order differs"


def _leftover(rows: list[Row], others: list[Row]) -> list[Row]:
    rest = list(others)
    left = []
    for row in rows:
        if row in rest:
            rest.remove(row)
        else:
            left.append(row)
    return left


def _comparable(value: Any) -> Any:
    """A value in one form for all engines: numbers by value, NaN equal to itself, timestamps as UTC without zone."""
    if isinstance(value, (list, tuple)):
        return tuple(_comparable(part) for part in value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return float(value)
        return float(f"{float(value):.12g}") if isinstance(value, float) else _plain_number(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return value


def _plain_number(value: int | Decimal) -> int | float:
    if value == int(value):
        number = int(value)
        return float(number) if abs(number) < 2**53 else number
    return float(f"{float(value):.12g}")


# --- types and values -------------------------------------------------------------------------------------------------

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_ARRAY = re.compile(r"array<(.+)>")


def arrow_type(type_text: str) -> pa.DataType:
    """The Arrow type of a Spark DDL type.

    >>> arrow_type("array<decimal(5,2)>")
    ListType(list<item: decimal128(5, 2)>)
    """
    if made := _DECIMAL.fullmatch(type_text):
        return pa.decimal128(int(made[1]), int(made[2]))
    if made := _ARRAY.fullmatch(type_text):
        return pa.list_(arrow_type(made[1]))
    return _ARROW[type_text]


def parse_columns(text: str) -> tuple[Column, ...]:
    """`id int, price decimal(5,2)` -> columns. A back-quoted name may hold blanks."""
    columns = []
    for part in _split(text, ","):
        made = re.fullmatch(r"(?:`([^`]+)`|(\w+))\s+(.+)", part.strip())
        if made is None:
            raise ValueError(f"not a column with a type: {part!r}")
        arrow_type(made[3].strip())
        columns.append(Column(made[1] or made[2], made[3].strip()))
    return tuple(columns)


def parse_cell(text: str, type_text: str | None) -> Any:
    """One cell by its type; without a type, by its look.

    >>> parse_cell(" 'NULL' ", "string"), parse_cell("NULL", "int"), parse_cell("[1, NULL]", None)
    ('NULL', None, [1, None])
    """
    text = text.strip()
    if text == "NULL":
        return None
    if text.startswith("[") and (type_text is None or _ARRAY.fullmatch(type_text)):
        inner = None if type_text is None else type_text[len("array<") : -1]
        body = text[1:-1].strip()
        return [parse_cell(part, inner) for part in _split(body, ",")] if body else []
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return _guess(text) if type_text is None else _typed(text, type_text)


def _typed(text: str, type_text: str) -> Any:
    if type_text == "string":
        return text
    if type_text == "boolean":
        return {"true": True, "false": False}[text.lower()]
    if type_text in {"tinyint", "smallint", "int", "bigint"}:
        return int(text)
    if type_text in {"float", "double"}:
        return float(text)
    if type_text.startswith("decimal"):
        return Decimal(text)
    if type_text == "date":
        return date.fromisoformat(text)
    if type_text == "timestamp":
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    if type_text == "timestamp_ntz":
        return datetime.fromisoformat(text)
    raise ValueError(f"no cells of type {type_text}")


def _guess(text: str) -> Any:
    if text in {"true", "false"}:
        return text == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.\d*([eE][+-]?\d+)?|Infinity|NaN)", text):
        return float(text)
    return text


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that is outside quotes and brackets."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == "'":
            quoted = not quoted
        elif not quoted and char in "[(<":
            depth += 1
        elif not quoted and char in "])>":
            depth -= 1
        elif not quoted and depth == 0 and char == separator:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _parse_rows(text: str, types: Sequence[str | None], where: str) -> tuple[Row, ...]:
    rows = []
    for line in text.strip("\n").splitlines():
        if not line.strip():
            continue
        cells = _split(line, "|")
        if len(cells) != len(types):
            raise ValueError(f"{where}: {len(cells)} cells for {len(types)} columns: {line!r}")
        rows.append(tuple(parse_cell(cell, kind) for cell, kind in zip(cells, types, strict=True)))
    return tuple(rows)


# --- files ------------------------------------------------------------------------------------------------------------

_CASE_KEYS = frozenset(
    "name about columns rows table clause expect_columns expect error ordered arrival_order input_name".split()
)
_LETTER_KEYS = frozenset("name about rows pattern expect error free define skip".split())
_TABLE_KEYS = frozenset("name columns rows".split())


def load_cases() -> list[Case]:
    """All cases of all files, in the order of file names and then as written."""
    return [case for path in sorted(FOLDER.glob("*.toml")) for case in load_file(path)]


def load_file(path: Path) -> list[Case]:
    """The cases of one file; an unknown key or a malformed row is a ValueError that names the case."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    _check_keys(content, frozenset({"case", "letters", "table"}), path.name)
    tables = {}
    for entry in content.get("table", ()):
        _check_keys(entry, _TABLE_KEYS, f"{path.name}: {entry.get('name')}")
        columns = parse_columns(entry["columns"])
        tables[entry["name"]] = (columns, _parse_rows(entry["rows"], [c.type_text for c in columns], path.name))
    letters = [_read_letters(entry, path.stem) for entry in content.get("letters", ())]
    return letters + [read_case(entry, path.stem, tables) for entry in content.get("case", ())]


def _check_keys(entry: dict[str, Any], known: frozenset[str], where: str) -> None:
    if unknown := set(entry) - known:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")


def read_case(entry: dict[str, Any], file: str, tables: dict[str, tuple[tuple[Column, ...], tuple[Row, ...]]]) -> Case:
    where = f"{file}: {entry['name']}"
    _check_keys(entry, _CASE_KEYS, where)
    if "table" in entry:
        columns, rows = tables[entry["table"]]
    else:
        columns = parse_columns(entry["columns"])
        rows = _parse_rows(entry.get("rows", ""), [column.type_text for column in columns], where)
    if ("error" in entry) == ("expect" in entry):
        raise ValueError(f"{where}: needs either expect or error")
    names: tuple[str, ...] = ()
    types: tuple[str | None, ...] = ()
    expect = None
    if "expect" in entry:
        names, types = _expected_columns(entry["expect_columns"], columns)
        expect = _parse_rows(entry["expect"], types, where)
    return Case(
        name=entry["name"],
        file=file,
        columns=columns,
        rows=rows,
        clause=entry["clause"].strip(),
        expect_columns=names,
        expect_types=types,
        expect=expect,
        error=entry.get("error"),
        about=entry.get("about", ""),
        ordered=entry.get("ordered", False),
        arrival_order=entry.get("arrival_order", False),
        input_name=entry.get("input_name"),
    )


def _expected_columns(text: str, columns: tuple[Column, ...]) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    of_input = {column.name: column.type_text for column in columns}
    names: list[str] = []
    types: list[str | None] = []
    for part in _split(text, ","):
        made = re.fullmatch(r"(?:`([^`]+)`|(\w+))(?:\s+(.+))?", part.strip())
        if made is None:
            raise ValueError(f"not an output column: {part!r}")
        names.append(made[1] or made[2])
        types.append(made[3] or of_input.get(names[-1]))
    return tuple(names), tuple(types)


# --- the short form ---------------------------------------------------------------------------------------------------

_MATCH = re.compile(r"(\d+):([A-Za-z()]*)")


def _read_letters(entry: dict[str, Any], file: str) -> Case:
    where = f"{file}: {entry['name']}"
    _check_keys(entry, _LETTER_KEYS, where)
    rows = tuple((at, kind) for at, kind in enumerate(entry["rows"], start=1))
    error = entry.get("error")
    return Case(
        name=entry["name"],
        file=file,
        columns=(Column("id", "int"), Column("kind", "string")),
        rows=rows,
        clause=letters_clause(entry),
        expect_columns=() if error else ("id", "m", "label", "kind"),
        expect_types=() if error else ("int", "bigint", "string", "string"),
        expect=None if error else _letters_expect(entry["expect"], dict(rows), where),
        error=error,
        about=entry.get("about", ""),
    )


def letters_clause(entry: dict[str, Any]) -> str:
    """The clause in full: all rows of each match with their match number and label."""
    variables = dict.fromkeys(re.findall(r"[A-Z]", re.sub(r"PERMUTE", "", entry["pattern"])))
    written = entry.get("define", "")
    known = set(re.findall(r"\b([A-Z]) AS\b", written)) | set(entry.get("free", ""))
    conditions = [f"{name} AS kind = '{name}'" for name in variables if name not in known]
    conditions += [written] if written else []
    if not conditions and variables:
        conditions = [f"{next(iter(variables))} AS TRUE"]
    return "\n".join(
        [
            "ORDER BY id",
            "MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS label",
            "ALL ROWS PER MATCH",
            f"AFTER MATCH SKIP {entry.get('skip', 'PAST LAST ROW')}",
            f"PATTERN ({entry['pattern']})",
            *([f"DEFINE {', '.join(conditions)}"] if conditions else []),
        ]
    )


def _letters_expect(text: str, kinds: dict[int, str], where: str) -> tuple[Row, ...]:
    rows: list[Row] = []
    for number, match in enumerate(text.split(), start=1):
        made = _MATCH.fullmatch(match)
        if made is None:
            raise ValueError(f"{where}: not a match: {match!r}")
        at, hidden = int(made[1]), False
        if not made[2]:
            rows.append((at, number, None, None))
        for char in made[2]:
            if char in "()":
                hidden = char == "("
                continue
            if not hidden:
                rows.append((at, number, char, kinds[at]))
            at += 1
    return tuple(rows)
