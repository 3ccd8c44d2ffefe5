"""A folder of rule files -> RuleFolder: the rules that could be read, and the problems of the others. Runs no query."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ostinato.calls.options import shown
from ostinato.errors import QueryError
from ostinato.rule_files.folder_settings import SETTINGS_FILE, read_settings
from ostinato.rule_files.problems import Problem, Problems
from ostinato.rule_files.rule_fields import read_rule_file, text_in_file
from ostinato.rule_files.rule_file import FolderSettings, RuleFile, RuleText
from ostinato.rule_files.yaml_values import MOST_BYTES, Document, FileFault, file_fault, read_yaml

_FENCE = "---"
_ENDINGS = (".sql", ".yaml", ".yml")
_HIDDEN = (".", "_")


@dataclass(frozen=True, slots=True)
class RuleFolder:
    """The rules of a folder in the order of their paths. `broken` has the files that aren't rules."""

    root: Path
    settings: FolderSettings
    rules: tuple[RuleFile, ...]
    problems: tuple[Problem, ...]
    broken: tuple[str, ...]


def read_folder(folder: str | os.PathLike[str]) -> RuleFolder:
    """Reads all rule files below the folder. Raises RULES_FOLDER_MISSING; all else is a problem of one file."""
    root = Path(folder)
    if root.is_file():
        message = f"{root} is a file, and rules are read from a folder"
        raise QueryError("RULES_FOLDER_MISSING", message, hint=f"give its folder: {root.parent}")
    if not root.is_dir():
        raise QueryError(
            "RULES_FOLDER_MISSING", f"there is no folder {root}", hint="a folder of *.sql and *.yaml files"
        )
    found: list[Problem] = []
    settings, rules, broken = FolderSettings(), list[RuleFile](), list[str]()
    paths, unread = rule_paths(root)
    for path, fault in unread.items():
        found.append(Problem(path, None, fault))
        broken.append(path)
    for path in paths:
        problems = Problems(path)
        if path == SETTINGS_FILE:
            with problems.caught():
                settings = read_settings(read_yaml(file_text(root, path)), problems)
        else:
            rule = None
            with problems.caught():
                rule = _read_rule(path, file_text(root, path), problems)
            if rule is None:
                broken.append(path)
            else:
                rules.append(rule)
        found += problems.found
    found += _same_ids(rules)
    return RuleFolder(root, settings, tuple(rules), tuple(found), tuple(broken))


def check_has_rules(folder: RuleFolder) -> None:
    """Raises NO_RULES for a folder without rule files: its path is probably wrong."""
    if not folder.rules and not folder.broken:
        raise QueryError(
            "NO_RULES",
            f"there is no rule file in the folder {folder.root}",
            hint="rules are files *.sql, *.yaml and *.yml whose names don't begin with _ or .",
        )


def rule_paths(root: Path) -> tuple[list[str], dict[str, FileFault]]:
    """The rule files, relative to the folder, in order; and a fault for each folder that isn't read.

    Hidden files and folders aren't rules, so they have no fault.
    """
    paths, unread = list[str](), dict[str, FileFault]()

    def relative(path: Path) -> str:
        return path.relative_to(root).as_posix()

    def note(error: OSError) -> None:
        unread[relative(Path(error.filename))] = file_fault(f"can't read the folder: {error.strerror}", None)

    for parent, folders, files in os.walk(root, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        for link in (Path(parent) / name for name in folders):
            if link.is_symlink():
                message = "links to folders aren't followed"
                unread[relative(link)] = file_fault(message, None, hint="copy the folder, or hide the link: _name")
        rules = (name for name in files if name.lower().endswith(_ENDINGS) and not name.startswith(_HIDDEN))
        paths += [relative(Path(parent) / name) for name in rules]
    return sorted(paths), unread


def file_text(root: Path, path: str) -> str:
    """The text of a file. Raises FileFault for files outside the folder, too long ones, and other encodings."""
    file = inside(root, root / path)
    if not file.is_file():  # a pipe would be read for ever
        raise file_fault("this isn't a file", None)
    try:
        with file.open("rb") as content:
            data = content.read(MOST_BYTES + 1)
    except OSError as error:
        raise file_fault(f"can't read the file: {error.strerror}", None) from None
    if len(data) > MOST_BYTES:
        raise file_fault(f"the file has more than {MOST_BYTES:,} bytes", None)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise file_fault("the file isn't UTF-8 text", line) from None


def inside(root: Path, file: Path) -> Path:
    """The file, if no link leads out of the folder. Raises FileFault."""
    resolved = file.resolve()
    if not resolved.is_relative_to(root.resolve()):
        raise file_fault("the file lies outside the folder of the rules", None, hint="copy it into the folder")
    return resolved


def _read_rule(path: str, text: str, problems: Problems) -> RuleFile | None:
    if PurePosixPath(path).name in (SETTINGS_FILE, "rules.yml"):
        raise file_fault(f"the settings of a folder are the file {SETTINGS_FILE} at its top", None)
    if not path.lower().endswith(".sql"):
        return read_rule_file(path, read_yaml(text), None, problems)
    document, query = split_front_matter(text)
    return read_rule_file(path, document, query, problems)


def split_front_matter(text: str) -> tuple[Document, RuleText]:
    """The front matter of a `*.sql` file and the query below it. Without a front matter, the whole text is the query.

    >>> document, query = split_front_matter("---\\nid: dip\\n---\\n\\nPATTERN (A B);\\n")
    >>> document.value, query
    ({'id': 'dip'}, RuleText(text='PATTERN (A B)', first_line=5, has_lines=True))
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return Document(), text_in_file(text, 1)
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise file_fault("the front matter has no end", 1, hint="a line --- below its last field")
    return read_yaml("\n".join(lines[1:end]), first_line=2), text_in_file("\n".join(lines[end + 1 :]), end + 2)


def _same_ids(rules: list[RuleFile]) -> list[Problem]:
    """A problem for each file with the id of another one. In the log, they would replace each other."""
    by_id: dict[str, list[RuleFile]] = {}
    for rule in rules:
        by_id.setdefault(rule.id, []).append(rule)
    return [
        Problem(
            rule.path,
            None,
            QueryError(
                "DUPLICATE_RULE",
                f"another file has the id {shown(rule.id)}: {next(one.path for one in same if one is not rule)}",
                hint="give one of them another id; without the field, the id is the name of the file",
            ),
        )
        for same in by_id.values()
        if len(same) > 1
        for rule in same
    ]
