"""A clause, a table and a key -> the attempts of the key, and its rows in the order of matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.clause.attempts.attempt import KeyAttempts
from ostinato.clause.attempts.attempt_engine import AttemptOptions, attempted_clause, check_attempted, key_attempts
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import errors_quoting
from ostinato.expressions import types as t
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_clause import completing_clause
from ostinato.local.key_rows import Key, rows_of_key, wanted_starts
from ostinato.local.local_funnels import check_time, with_order_column
from ostinato.rows.arrow_tables import as_table, columns_of

Positions = int | range | slice | Sequence[int] | None
"""Start rows, as positions in the order of the key; None: all."""


@dataclass(frozen=True, slots=True)
class AttemptedKey:
    """The attempts of one key."""

    attempts: KeyAttempts
    rows: pa.Table
    """The rows of the key, in the order of matching."""
    bound: BoundClause
    key: Mapping[str, object]
    all_starts: bool
    """Whether every row of the key was taken as a start."""


def clause_attempts(
    clause: MatchRecognize,
    table: Any,
    *,
    key: Key,
    rows: Positions,
    options: AttemptOptions,
    settings: t.Settings = t.Settings(),
    limits: Limits = Limits(),
) -> AttemptedKey:
    """Raises KEY_MISSING, INVALID_KEY and INVALID_OPTION for a key or rows that the table doesn't have."""
    written = clause if clause.text is not None else parse_clause(render_clause(clause))
    arrow = as_table(table, settings)
    bound = bind(attempted_clause(written), arrow.column_names, case_sensitive=settings.case_sensitive)
    check_attempted(bound, written.show_timeouts)
    plan = EvaluatedPlan(make_plan(bound), arrow.schema, settings, limits)
    chosen, values = rows_of_key(bound.partition_by, arrow, key, settings)
    starts = wanted_starts(rows, chosen.num_rows)
    with errors_quoting(written.text):
        ordered = key_attempts(plan, columns_of(chosen), chosen.num_rows, starts, options)
    return AttemptedKey(ordered.attempts, chosen.take(pa.array(ordered.order)), bound, values, starts is None)


def funnel_attempts(
    funnel: Funnel,
    table: Any,
    *,
    key: Key,
    rows: Positions,
    options: AttemptOptions,
    settings: t.Settings = t.Settings(),
) -> AttemptedKey:
    """The attempts of a funnel: its matches are the attempts with all steps."""
    arrow = as_table(table, settings)
    check_time(funnel, arrow, settings)
    events = with_order_column(funnel, arrow, settings)
    clause = completing_clause(funnel)
    return clause_attempts(clause, events, key=key, rows=rows, options=options, settings=settings)
