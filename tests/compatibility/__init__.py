"""TOML files -> lines of the pages in docs/compatibility/. No engine here.

A file holds `[[line]]` entries. The file of an engine has `engine` and `intro` too; in standard.toml every line lists
its `engines`. A line has a `section`, and one of these texts:

- `measure`: an expression in MEASURES, over one match of the table below (rows 2 to 6: START_ROW DOWN DOWN UP UP)
- `pattern` with `letters`: a pattern over rows whose kinds are these letters; each match is the word of its variables
- `clause`: a clause over the table, or `query`: a SELECT around one. `construct` is the part of it that the page shows

What must come out is one of these:

- `expect`: rows, one a line, with cells separated by ` | `; with `note`, what the page says besides "runs"
- `expect` with `write`, `error` and `hint`: the text is refused with this code and these words in the hint, and runs
  if the construct is replaced by `write`
- `error` with `why`: it is refused; `hint` as above, if there is one

`spark = true`: the line runs on Spark only. `args`: the values of its parameters.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

FOLDER = Path(__file__).parent
SECTIONS = (
    "Around the clause",
    "Keys and order",
    "MEASURES and navigation",
    "Rows per match",
    "AFTER MATCH SKIP",
    "PATTERN",
    "WITHIN, SUBSET and DEFINE",
    "Functions",
    "Types, literals and operators",
    "Row patterns in windows",
)
WITH_MEASURES = """PARTITION BY symbol ORDER BY day MEASURES {} PATTERN (START_ROW DOWN+ UP+)
DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page, and its test."""

    engine: str
    section: str
    construct: str
    text: str
    letters: str | None = None
    is_measure: bool = False
    expect: str | None = None
    note: str = ""
    write: str | None = None
    error: str | None = None
    hint: str = ""
    why: str = ""
    spark: bool = False
    args: dict[str, Any] | list[Any] | None = None

    @property
    def id(self) -> str:
        """The name under which test runners list the line."""
        return f"{self.engine}: {self.construct}"

    @property
    def replaced(self) -> str:
        """The text with what the page says to write."""
        assert self.write is not None
        return self.text.replace(self.construct, self.write)

    def table(self) -> pa.Table:
        """The rows that the text runs over."""
        if self.letters is None:
            return ticker()
        return pa.table({"id": list(range(1, len(self.letters) + 1)), "kind": list(self.letters)})

    def shown(self, result: pa.Table) -> str:
        """The rows as `expect` writes them."""
        rows = result.drop_columns(["symbol"]) if self.is_measure else result
        return "\n".join(" | ".join(map(shown_value, row.values())) for row in rows.to_pylist())


def ticker() -> pa.Table:
    """Six rows of one symbol."""
    return pa.table(
        {
            "symbol": ["X"] * 6,
            "day": [1, 2, 3, 4, 5, 6],
            "price": [12, 17, 13, 11, 15, 20],
            "at": [datetime(2024, 1, 1, 10, 10 * minute) for minute in range(6)],
            "traded": [date(2024, 1, day) for day in range(1, 7)],
            "venue": ["a,b", "b,c", "c,d", "d,e", "e,f", "f,g"],
            "missing": pa.array([None, 1, None, None, 2, None], pa.int64()),
        }
    )


def shown_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{', '.join(map(shown_value, value))}]"
    return str(value)


def load_lines() -> list[Line]:
    """The lines of all engines; each engine's in the order of its page."""
    standard = _entries(FOLDER / "standard.toml")["line"]
    lines = []
    for path in engine_files():
        content = _entries(path)
        engine = content["engine"]
        entries = [entry for entry in standard if engine in entry["engines"]] + content["line"]
        read = [_line(engine, entry) for entry in entries]
        lines += sorted(read, key=lambda line: SECTIONS.index(line.section))
    return lines


def engine_files() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.toml") if path.stem != "standard")


def intro(path: Path) -> tuple[str, str]:
    """The engine's name, and the first paragraph of its page."""
    content = _entries(path)
    return content["engine"], content["intro"].strip()


def _entries(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _line(engine: str, entry: dict[str, Any]) -> Line:
    rest = {name: value for name, value in entry.items() if name in Line.__slots__}
    expect = rest.pop("expect", None)
    if expect is not None:
        expect = "\n".join(line.strip() for line in expect.strip().splitlines())
    known = {*Line.__slots__, "engines", "measure", "pattern", "clause", "query"}
    assert not set(entry) - known, f"unknown keys {set(entry) - known} in {entry}"
    if "measure" in entry:
        rest["construct"], text = entry["measure"], WITH_MEASURES.format(f"{entry['measure']} AS value")
    elif "pattern" in entry:
        rest["construct"], text = entry["pattern"], _letters(entry["pattern"])
    else:
        text = (entry.get("clause") or entry["query"]).strip()
        assert entry["construct"] in text, f"{entry['construct']} isn't in {text}"
    return Line(engine=engine, text=text, is_measure="measure" in entry, expect=expect, **rest)


def _letters(pattern: str) -> str:
    """The clause that shows each match as the word of its variables."""
    letters = dict.fromkeys(re.findall(r"\b[A-Z]\b", pattern))
    return (
        "ORDER BY id MEASURES array_join(array_agg(CLASSIFIER()), '') AS word "
        f"PATTERN ({pattern}) DEFINE {', '.join(f'{letter} AS kind = {letter!r}' for letter in letters)}"
    )
