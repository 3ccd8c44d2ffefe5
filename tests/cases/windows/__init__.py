"""TOML files -> hand-worked cases of windows with a row pattern, which the oracle and every engine run.

`[[case]]` has the fields of a case of the clause. `clause` is the window without its frame, in the order of the
clause. `frame_end` is the n of `n FOLLOWING` (0: CURRENT ROW; left out: UNBOUNDED FOLLOWING), `seek = true` stands for
SEEK. `functions` names the measures that are functions over the matched rows. `expect_columns` may leave out columns.

`[[letters]]` has the fields of the short form of the clause, and these. `expect = "1:AAB 3>4:B 5:"` lists the rows that
have a match with its labels: row 1 has AAB; row 3 has B, which starts at row 4; row 5 has an empty match. All other
rows have none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases import Case, letters_clause, read_case

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.window_pattern import WindowPattern

FOLDER = Path(__file__).parent
_OF_WINDOWS = ("frame_end", "seek", "functions")


@dataclass(frozen=True, slots=True)
class WindowCase:
    """A case of the clause, and the frame of the window."""

    case: Case
    frame_end: int | None
    seek: bool
    functions: frozenset[str]

    @property
    def id(self) -> str:
        return self.case.id

    def pattern(self) -> WindowPattern:
        """The window. Raises the error of its text."""
        return WindowPattern(parse_clause(self.case.clause), self.frame_end, self.seek, self.functions)

    def difference(self, rows: Iterable[Mapping[str, Any]]) -> str | None:
        """What differs between the expectation and the rows of an engine; None when nothing does."""
        names = self.case.expect_columns
        return self.case.difference(names, [tuple(row[name] for name in names) for row in rows])


def load_windows() -> list[WindowCase]:
    """All cases of all files."""
    return [case for path in sorted(FOLDER.glob("*.toml")) for case in _load_file(path)]


def _load_file(path: Path) -> list[WindowCase]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    letters = [_window(_letters_entry(entry), path.stem) for entry in content.get("letters", ())]
    return letters + [_window(entry, path.stem) for entry in content.get("case", ())]


def _window(entry: dict[str, Any], file: str) -> WindowCase:
    of_clause = {key: value for key, value in entry.items() if key not in _OF_WINDOWS}
    functions = frozenset(entry.get("functions", "").split())
    case = read_case(of_clause, f"windows/{file}", {})
    return WindowCase(case, entry.get("frame_end"), entry.get("seek", False), functions)


def _letters_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """The case in full: the id of each row, whether it has a match, the first row of the match and its labels."""
    measures = "MEASURES TRUE AS matched, FIRST(id) AS first_id, array_agg(CLASSIFIER()) AS labels"
    lines = letters_clause(entry).splitlines()
    lines = [measures if line.startswith("MEASURES") else line for line in lines if "PER MATCH" not in line]
    full = {key: entry[key] for key in (*_OF_WINDOWS, "name", "about", "error") if key in entry}
    full |= {"columns": "id int, kind string", "clause": "\n".join(lines)}
    full["rows"] = "\n".join(f"{number} | '{kind}'" for number, kind in enumerate(entry["rows"], start=1))
    if "expect" in entry:
        full["expect_columns"] = "id, matched boolean, first_id int, labels array<string>"
        full["expect"] = "\n".join(_expected_rows(entry["expect"], len(entry["rows"])))
    return full


def _expected_rows(text: str, count: int) -> Sequence[str]:
    matches: dict[int, str] = {}
    for match in text.split():
        made = re.fullmatch(r"(\d+)(?:>(\d+))?:([A-Z]*)", match)
        assert made is not None, match
        row, labels = int(made[1]), made[3]
        first = (made[2] or made[1]) if labels else "NULL"
        matches[row] = f"{row} | true | {first} | [{', '.join(labels)}]"
    return [matches.get(row, f"{row} | NULL | NULL | NULL") for row in range(1, count + 1)]
