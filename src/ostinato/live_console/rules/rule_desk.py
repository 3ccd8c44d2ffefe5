"""Rules as the page edits them: their texts, tests on the input, and new versions in the change log."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from ostinato.api.any_query import as_query
from ostinato.api.explain import explain
from ostinato.errors import OstinatoError, QueryError
from ostinato.live_console.model.live_model import LiveModel, StoredRow
from ostinato.live_console.rules.match_picture import draw_match
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.rules.rule_trial import try_rule
from ostinato.live_console.sources.input_table import InputTable
from ostinato.live_console.sources.page_settings import Sources
from ostinato.rule_sets.change_files import RuleHistory, read_history, write_change
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions
from ostinato.rule_sets.rule_texts import read_rule


class RuleDesk:
    """Everything that the page does with rules, one test or picture at a time."""

    def __init__(self, model: LiveModel, terms: RuleTerms) -> None:
        self._model = model
        self._terms = terms
        self._busy = threading.Lock()
        self._input: InputTable | None = None

    @property
    def _sources(self) -> Sources:
        return self._model.sources

    def text(self, id: str) -> dict[str, Any]:
        """The newest version of a rule that has a text, with its options. `newest` is the number that `save` compares.
        Raises UNKNOWN_RULE."""
        line = self._model.rule(id)
        if line is None:
            raise QueryError("UNKNOWN_RULE", f"the console knows no rule '{id}'")
        history, in_force, (status, note) = self._history(id), line.in_force, line.status()
        change = history.with_text
        return {
            "id": id,
            "version": 0 if change is None else change.version,
            "newest": history.newest,
            "text": "" if change is None else change.text,
            "options": _options_of(change),
            "enabled": history.latest is not None and history.latest.enabled,
            "in_force": None if in_force is None or not in_force.enabled else in_force.version,
            "status": status,
            "note": note,
        }

    def test(self, id: str, text: str) -> dict[str, Any]:
        """The rows that the text gives on the input, with the options of the rule. Nothing is written."""
        change = RuleChange(
            id or "new rule", 1, text, options=RuleOptions.read(_options_of(self._history(id).with_text))
        )
        with self._one_at_a_time():
            table, declared = self._table(self._model.seen_keys())
            return try_rule(change, table, declared).to_json()

    def save(self, id: str, text: str, *, enabled: bool, seen_version: int) -> dict[str, Any]:
        """Writes the next version, unless someone else has written one since the page read the rule. The options stay
        those of the newest version with a text, without the reason of a suspension.

        Raises RULE_CHANGED_MEANWHILE, LOG_MISSING, LOG_NOT_WRITABLE and the errors of a wrong change.
        """
        folder = self._sources.log
        if folder is None:
            raise QueryError("LOG_MISSING", "there is no change log to write to", hint="--log names its folder")
        RuleChange(id, 1, text, enabled)
        try:
            history = read_history(folder, id)
            newest, options = history.newest, _options_of(history.with_text)
            if newest != seen_version:
                message = f"version {newest} of '{id}' was written meanwhile, and the page knows version {seen_version}"
                raise QueryError("RULE_CHANGED_MEANWHILE", message, hint="open the rule again")
            written = write_change(folder, id, text, version=newest + 1, enabled=enabled, options=options)
        except OSError as error:
            raise QueryError(
                "LOG_NOT_WRITABLE",
                f"the change log {folder.name} can't be written: {error.strerror or error}",
                hint="start the console as a user who may write there",
            ) from None
        return {"id": id, "version": written.version}

    def _history(self, id: str) -> RuleHistory:
        """The versions of a rule in the change log; those that the console remembers if the log can't be read."""
        try:
            if self._sources.log is not None:
                return read_history(self._sources.log, id)
        except OSError:
            pass
        line = self._model.rule(id)
        known = {} if line is None else line.versions
        changes = [known[number] for number in sorted(known, reverse=True)]
        latest = changes[0] if changes else None
        return RuleHistory(max(known, default=0), latest, next((each for each in changes if each.text), None))

    def match_picture(self, number: int) -> str:
        """The SVG of a row that the page shows. Raises PICTURE_MISSING."""
        stored = self._stored(number)
        with self._one_at_a_time():
            table, declared = self._table(self._model.seen_keys() or ())
            line = self._model.rule(stored.row.rule)
            change = None if line is None else line.versions.get(stored.row.version or 0)
            try:
                return draw_match(stored.row, change, table, declared)
            except pa.ArrowException as error:  # keys of a type that can't be compared with a text
                reason = str(error).split("\n", 1)[0]
                raise QueryError("PICTURE_MISSING", f"the input can't be searched for the match: {reason}") from None

    def automaton_picture(self, id: str) -> str:
        """The SVG of a rule's automaton. Raises PICTURE_MISSING for a rule that can't be read."""
        change = self._history(id).with_text
        if change is None:
            raise QueryError("PICTURE_MISSING", f"there is no text of the rule '{id}'", hint="--log names its folder")
        keys = self._terms.keys or self._model.seen_keys() or ("key",)
        return explain(_clause(change.text, self._declared_or_none(), keys)).svg

    def details(self, number: int) -> dict[str, Any]:
        """All that the page keeps of one row."""
        row = self._stored(number).row
        return {
            "kind": row.kind,
            "rule": row.rule,
            "version": row.version,
            "match_id": row.match_id,
            "keys": [list(pair) for pair in row.keys],
            "began": row.began_ms,
            "ended": row.ended_ms,
            "decided": row.decided_ms,
            "measures": row.measures,
            "message": row.message,
        }

    def _stored(self, number: int) -> StoredRow:
        stored = self._model.row(number)
        if stored is None:
            raise QueryError("ROW_GONE", "the console doesn't keep this row any more", hint="it keeps the last rows")
        return stored

    def _table(self, seen_keys: tuple[str, ...] | None) -> tuple[Any, Declaration]:
        path = self._sources.table
        if path is None:
            raise QueryError("INPUT_MISSING", "there is no table to look into", hint="--input names a file or a folder")
        if self._input is None or self._input.path != path:
            self._input = InputTable(path)
        table = self._input.read()
        return table, self._terms.declaration(table, seen_keys)

    def _declared_or_none(self) -> Declaration | None:
        try:
            return self._table(self._model.seen_keys())[1]
        except OstinatoError:
            return None

    def _one_at_a_time(self) -> _Busy:
        return _Busy(self._busy)


class _Busy:
    """A lock that nobody waits for: the page shows the error, and the user tries again."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=25):
            raise QueryError("CONSOLE_BUSY", "the console is still working on another test", hint="try again")

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def _clause(text: str, declared: Declaration | None, keys: tuple[str, ...]) -> Any:
    """The clause of a rule; without an input, over these keys and in the order of a column of any name."""
    if declared is not None:
        return read_rule(text, declared).query.clause
    return as_query(text, keys=keys, time="time")


def _options_of(change: RuleChange | None) -> dict[str, Any]:
    """The options that the next version keeps."""
    values = {} if change is None else change.options.to_values()
    return {name: value for name, value in values.items() if name != "reason"}
