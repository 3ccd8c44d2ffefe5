"""A rule whose partial matches may stay open for ever -> a warning: on a stream, the state grows without bound."""

from __future__ import annotations

from ostinato.clause.stream.stream_limits import why_unbounded
from ostinato.errors import QueryError
from ostinato.rule_files.rule_file import QueryKind
from ostinato.rule_sets.compiled_rule import CompiledRule

_HINTS = {"clause": "WITHIN 1 HOUR or MAXLENGTH 1000 behind PATTERN", "funnel": '"within": "1 hour"'}


def unbounded_state(rule: CompiledRule, kind: QueryKind) -> QueryError | None:
    """The warning UNBOUNDED_STATE, or None."""
    reason = why_unbounded(rule.plan.plan)
    return None if reason is None else QueryError("UNBOUNDED_STATE", reason, hint=_HINTS.get(kind))
