"""Lines -> the pages of docs/compatibility/. `python -m tests.compatibility.pages` writes them."""

from __future__ import annotations

from pathlib import Path

from tests.compatibility import SECTIONS, Line, engine_files, intro, load_lines

FOLDER = Path(__file__).parents[2] / "docs" / "compatibility"


def page(path: Path) -> str:
    """The page of the engine with this file."""
    engine, first = intro(path)
    parts = [
        f"# Queries written for {engine}",
        first,
        f"Every line is a test of `tests/compatibility/{path.name}` or `tests/compatibility/standard.toml`. They make\n"
        "this page. Where it says what to write, the error says so, too. [Coming from another\n"
        "engine](../coming-from.md) compares the engines.",
    ]
    lines = [line for line in load_lines() if line.engine == engine]
    for section in SECTIONS:
        table = [_row(line) for line in lines if line.section == section]
        if table:
            parts.append("\n".join([f"## {section}", "", f"| {engine} | Ostinato |", "|---|---|", *table]))
    return "\n\n".join(parts) + "\n"


def _row(line: Line) -> str:
    where = " on Spark" if line.spark else ""
    if line.write is not None:
        outcome = f"write {_code(line.write)}{where}"
    elif line.error is not None:
        outcome = f"refused (`{line.error}`): {line.why}"
    else:
        outcome = f"runs{where}"
    return f"| {_code(line.construct)} | {outcome}{f'; {line.note}' if line.note else ''} |"


def _code(text: str) -> str:
    escaped = " ".join(text.split()).replace("|", "\\|")
    return f"`` {escaped} ``" if "`" in escaped else f"`{escaped}`"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in engine_files():
        (FOLDER / f"{path.stem}.md").write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    main()
