"""Translated rules -> rule files: one `.sql` file for each, with a front matter in YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError
from ostinato.sigma_rules.translated_rule import TranslatedRule


@only_our_errors()
def write_rule_files(
    rules: Iterable[TranslatedRule], folder: str | os.PathLike[str], *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Writes each rule that has a query as `<id>.sql`, and returns the files. Rules with problems are left out.

    A file that exists with another content is an error unless `overwrite` is true. So is a link. Then no file is
    written.

    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> query = "MEASURES last(ts) AS ended PATTERN (E) DEFINE E AS action = 'wipe'"
    >>> rule = TranslatedRule("wiped", "A disk is wiped", severity="high", keys=("host",), time=("ts",), query=query)
    >>> (file,) = write_rule_files([rule], folder)
    >>> print(file.read_text())
    ---
    id: "wiped"
    title: "A disk is wiped"
    severity: "high"
    keys:
    - "host"
    time:
    - "ts"
    ---
    MEASURES last(ts) AS ended PATTERN (E) DEFINE E AS action = 'wipe'
    """
    target = Path(folder)
    if not target.is_dir():
        raise QueryError("OUTPUT_FOLDER_MISSING", f"there is no folder '{target}'", hint="create it first")
    translated = [rule for rule in rules if rule.query]
    texts = dict(zip(_file_names(target, translated), map(file_text, translated), strict=True))
    for path, content in texts.items():
        if path.is_symlink():  # its target may lie in another folder
            hint = "remove the link, or write to another folder"
            raise QueryError(
                "RULE_FILE_EXISTS", f"'{path.name}' is a link, and no file is written through it", hint=hint
            )
        if not overwrite and path.exists() and path.read_bytes() != content.encode():
            hint = "write to another folder, or pass overwrite=True, which discards what the file has now"
            raise QueryError("RULE_FILE_EXISTS", f"the file '{path.name}' has another content already", hint=hint)
    for path, content in texts.items():
        path.write_bytes(content.encode())
    return tuple(texts)


def file_text(rule: TranslatedRule) -> str:
    """The content of a rule's file."""
    fields = {
        "id": rule.id,
        "title": rule.title,
        "description": rule.description,
        "severity": rule.severity,
        "tags": list(rule.tags),
        "owner": rule.owner,
        "keys": list(rule.keys),
        "time": list(rule.time),
    }
    # A rule without keys says so: otherwise it would take those of its folder.
    shown = {name: value for name, value in fields.items() if value or name == "keys"}
    front = "".join(f"{name}:{_quoted(value)}\n" for name, value in shown.items())
    computed = "".join(
        f"-- The input needs the column {_comment(name)}: {_comment(sql)}\n"
        for name, sql in rule.computed_columns.items()
    )
    return f"---\n{front}---\n{computed}{rule.query}\n"


def _quoted(value: str | list[str] | None) -> str:
    """YAML behind a field, with each text in double quotes: versions of YAML disagree about others, such as `1e3`.

    >>> _quoted("1e3"), _quoted([])
    (' "1e3"', ' []')
    """
    if isinstance(value, list):
        return "".join(f"\n-{_quoted(one)}" for one in value) or " []"
    return f' "{"".join(map(_escaped, value or ""))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    if character.isprintable() and character != "\ufeff":
        return character
    return f"\\U{ord(character):08x}"


def _comment(text: str) -> str:
    """The text without line breaks, which would end a comment."""
    return "".join(character if character.isprintable() else " " for character in text)


def _file_names(folder: Path, rules: Iterable[TranslatedRule]) -> list[Path]:
    """Names of letters, digits, `_`, `-` and `.`, unique also where file names ignore case.

    None begins with `.` or `_`: the reader of rule files leaves such files out.
    """
    taken: set[str] = set()
    paths = []
    for rule in rules:
        base = re.sub(r"[^A-Za-z0-9_.-]+", "_", rule.id).lstrip("._")[:150] or "rule"
        name, number = base, 1
        while name.lower() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.lower())
        paths.append(folder / f"{name}.sql")
    return paths
