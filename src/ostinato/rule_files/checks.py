"""RuleFolder -> CheckedFolder: each rule parsed, typed over a schema, and looked through for probable mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.rule_files.folder_settings import SETTINGS_FILE
from ostinato.rule_files.lints.conditions import impossible_conditions
from ostinato.rule_files.lints.names import name_warnings
from ostinato.rule_files.lints.open_for_ever import unbounded_state
from ostinato.rule_files.problems import Problem, Problems, has_errors
from ostinato.rule_files.ready_rule import CompiledEvents, ReadyRule, compile_over, parse_rule
from ostinato.rule_files.rule_file import FolderSettings, RuleFile
from ostinato.rule_files.rule_folder import RuleFolder
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.rule_errors import as_error_of_rule


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """The rules of a folder without errors, and all problems in the order of files and lines."""

    folder: RuleFolder
    rules: tuple[ReadyRule, ...]
    problems: tuple[Problem, ...]

    @property
    def has_errors(self) -> bool:
        return has_errors(self.problems)


def check_folder(folder: RuleFolder, schema: pa.Schema | None = None) -> CheckedFolder:
    """Checks all rules. `schema` has the columns of the input, in place of those in `rules.yaml`. Without any schema,
    names and types of columns aren't checked. A rule with an error isn't in the result, and doesn't stop the others.
    With an error in `rules.yaml`, no rule is checked, because the rules stand on it.
    """
    if any(problem.path == SETTINGS_FILE and problem.level == "error" for problem in folder.problems):
        return CheckedFolder(folder, (), tuple(sorted(folder.problems, key=Problem.sort_key)))
    shared = folder.settings if schema is None else replace(folder.settings, schema=_normalised(schema, folder))
    folder = replace(folder, settings=shared)
    found = list(folder.problems)
    with_errors = {problem.path for problem in found if problem.level == "error"}
    rules = []
    for rule in folder.rules:
        problems = Problems(rule.path)
        ready = checked_rule(rule, shared, problems)
        found += problems.found
        if ready is not None and rule.path not in with_errors:
            rules.append(ready)
    return CheckedFolder(folder, tuple(rules), tuple(sorted(found, key=Problem.sort_key)))


def _normalised(schema: pa.Schema, folder: RuleFolder) -> pa.Schema:
    settings = folder.settings.settings
    return pa.schema([pa.field(field.name, t.normalise(field.type, settings)) for field in schema])


def checked_rule(rule: RuleFile, shared: FolderSettings, problems: Problems) -> ReadyRule | None:
    """The rule, or None if it has an error. `problems` gets errors and warnings."""
    try:
        ready = parse_rule(rule, shared)
        compiled = None if shared.schema is None else compile_over(ready, shared.schema, shared.settings)
        warnings = list(_warnings(ready, compiled, shared.schema))
    except Exception as error:
        ours = as_error_of_rule(error)
        problems.add(ours, rule.suppress_line if ours.code == "INVALID_SUPPRESS" else rule.query.in_file(ours))
        return None
    for warning in warnings:
        problems.add(warning, rule.query.in_file(warning), "warning")
    return replace(ready, compiled=compiled)


def _warnings(
    rule: ReadyRule, compiled: CompiledRule | CompiledEvents | None, schema: pa.Schema | None
) -> Iterator[QueryError]:
    if isinstance(rule.query, ClauseQuery):
        yield from name_warnings(rule.query.clause, schema.names if schema is not None else ())
    if compiled is None:
        return
    if isinstance(compiled, CompiledRule) and (warning := unbounded_state(compiled, rule.kind)) is not None:
        yield warning
    yield from impossible_conditions(rule, compiled)
