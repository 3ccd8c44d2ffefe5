"""Files and texts of Sigma rules -> the rules as pySigma reads them. A document that can't be read is a problem.

Each YAML document is read alone, so that a broken one doesn't hide the others. Nothing is fetched or executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule
from sigma.rule.base import SigmaYAMLLoader, check_alias_expansion

from ostinato.errors import QueryError
from ostinato.sigma_rules.pysigma_calls import POLICY, one_line, pysigma_errors
from ostinato.sigma_rules.translated_rule import Problem

Source = str | Path
SigmaObject = SigmaRule | SigmaCorrelationRule | SigmaFilter

_MOST_LEVELS = 100
_MOST_BYTES = 1 << 22
"""Of one file. A collection may have many rules in one."""
_CORRELATION_FIELDS = frozenset({"type", "rules", "group-by", "timespan", "condition", "aliases", "generate"})


@dataclass(frozen=True, slots=True)
class Document:
    """A rule as read, or the problem with it."""

    id: str
    title: str
    source: str
    rule: SigmaObject | None
    problem: Problem | None = None


def read_documents(sources: Source | Iterable[Source]) -> tuple[Document, ...]:
    """All documents of texts, files and folders, in order of names. A second rule with the same id or name is refused.

    A text is a string with more than one line. Any other string is a path.
    """
    listed = [sources] if isinstance(sources, str | Path) else list(sources)
    documents: list[Document] = []
    ids: set[str] = set()
    for source in listed:
        for file_name, content in _contents(source):
            for document in _documents(content, file_name):
                documents.append(_refused_if_duplicate(document, ids))
    return tuple(documents)


def _contents(source: Source) -> Iterator[tuple[str, str | Problem]]:
    if isinstance(source, str) and "\n" in source:
        yield "", source
        return
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in (".yml", ".yaml") and not file.is_dir())
    elif path.is_file():
        files = [path]
    else:
        hint = "a text of rules has more than one line; anything else is the path of a file or a folder"
        raise QueryError("INPUT_MISSING", f"there is no file or folder '{path}'", hint=hint)
    for file in files:
        yield str(file), _file_content(file, path)


def _file_content(file: Path, root: Path) -> str | Problem:
    """The text of a file. A link to a file outside the folder, a pipe and a very long file are problems."""
    try:
        resolved = file.resolve()
        if file != root and not resolved.is_relative_to(root.resolve()):
            return Problem("SIGMA_INVALID", "the file lies outside the folder", "copy it into the folder")
        if not resolved.is_file():  # a pipe would be read for ever
            return Problem("SIGMA_INVALID", "this isn't a file")
        with resolved.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return Problem("SIGMA_INVALID", f"the file has more than {_MOST_BYTES:,} bytes", "split it")
        return data.decode("utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle
        return Problem("SIGMA_INVALID", f"the file can't be read: {error}")


def _documents(content: str | Problem, source: str) -> Iterator[Document]:
    name = Path(source).stem or "text"
    if isinstance(content, Problem):
        yield Document(name, "", source, None, content)
        return
    try:
        _check_depth(content)
        # SigmaYAMLLoader is a safe loader that refuses duplicate keys.
        values = list(yaml.load_all(content, Loader=SigmaYAMLLoader))
    except QueryError as error:
        yield Document(name, "", source, None, Problem.of(error))
        return
    except (yaml.YAMLError, ValueError) as error:
        yield Document(name, "", source, None, Problem("SIGMA_INVALID", f"this isn't YAML: {one_line(error)}"))
        return
    for value in values:
        if value is not None:
            yield _document(value, name, source)


def _check_depth(content: str) -> None:
    """Refuses lists in lists that the loader, which is compiled, would follow until its stack overflows."""
    depth = 0
    for event in yaml.parse(content, Loader=SigmaYAMLLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MOST_LEVELS:
            raise QueryError("TOO_DEEP", f"lists and mappings nest more than {_MOST_LEVELS} levels deep")


def _document(value: object, name: str, source: str) -> Document:
    if not isinstance(value, dict):
        return Document(name, "", source, None, Problem("SIGMA_INVALID", "a rule is a mapping of names to values"))
    title = one_line(value.get("title") or "")
    rule_id = one_line(value.get("id") or value.get("name") or _slug(title) or name)
    try:
        with pysigma_errors():
            return Document(rule_id, title, source, _parsed(value))
    except QueryError as error:
        return Document(rule_id, title, source, None, Problem.of(error))


def _parsed(value: dict[str, Any]) -> SigmaObject:
    check_alias_expansion(value)
    if "action" in value:
        hint = "write each rule as a document of its own"
        raise QueryError("SIGMA_NOT_SUPPORTED", "action documents can't be translated", hint=hint)
    if "filter" in value:
        return SigmaFilter.from_dict(value, policy=POLICY)
    if "correlation" not in value:
        return SigmaRule.from_dict(value, policy=POLICY)
    correlation = value["correlation"]
    unknown = sorted(map(str, set(correlation) - _CORRELATION_FIELDS)) if isinstance(correlation, dict) else []
    if unknown:
        hint = f"a correlation has {', '.join(sorted(_CORRELATION_FIELDS))}"
        raise QueryError("SIGMA_NOT_SUPPORTED", f"the field '{unknown[0]}' of a correlation is unknown", hint=hint)
    rule = SigmaCorrelationRule.from_dict(value, policy=POLICY)
    if not all(isinstance(reference.reference, str) for reference in rule.rules or ()):
        raise QueryError("SIGMA_INVALID", "a correlation names its rules by texts: their names or ids")
    return rule


def _refused_if_duplicate(document: Document, ids: set[str]) -> Document:
    names = {document.id} | ({document.rule.name} if document.rule is not None and document.rule.name else set())
    taken = sorted(names & ids)
    ids |= names
    if not taken or document.rule is None:
        return document
    problem = Problem("SIGMA_DUPLICATE", f"another rule has the id or name '{taken[0]}'", "ids and names are unique")
    return Document(document.id, document.title, document.source, None, problem)


def collection_of(documents: Iterable[Document]) -> SigmaCollection:
    """The rules that could be read. pySigma applies the filters among them to the others."""
    with pysigma_errors():
        return SigmaCollection([d.rule for d in documents if d.rule is not None], resolve_references=False)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
