"""The arguments of `ost.funnel` -> Funnel: steps as conditions, keys, time, window and mode, all checked."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ostinato.calls.options import a_text, one_of, shown
from ostinato.clause.language.vocabulary import LOGICAL_NAVIGATION, PHYSICAL_NAVIGATION, aggregate_name
from ostinato.errors import QueryError, errors_quoting
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Name, Operator, string_literal, walk

StepTypes = str | int | tuple[str | int, ...]
"""The type of a step's event, or several types."""
MOST_STEPS = 32
"""As many as windowFunnel has."""
_LONGEST = timedelta(days=100_000 * 365)
"""Times have 64 bits of microseconds."""
LEVEL, COMPLETED = "level", "completed"
_READS_OTHER_ROWS = {*LOGICAL_NAVIGATION, *PHYSICAL_NAVIGATION, "classifier", "match_number"}
_STEPS_HINT = 'ost.funnel(["view", "cart", "pay"], ...), or {"view": "page = \'/product\'", ...}'
_NOT_OFFERED = {
    "strict_deduplication": "it ends the whole key at a repeated step, which isn't a property of one attempt",
    "allow_reentry": "strict_order already ignores repeats of steps that the attempt has reached",
}
"""windowFunnel's other modes, with the reason why there is no such mode here."""


class Mode(enum.Enum):
    """The events that may lie between two steps, and the times that two steps may have."""

    ANY = "any"
    STRICT_ONCE = "strict_once"
    """The same as ANY, under windowFunnel's name: an event is one step at most."""
    STRICT_ORDER = "strict_order"
    STRICT_INCREASE = "strict_increase"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, the condition that its event satisfies, and the column with its time."""

    name: str
    condition: Expr
    time_column: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """A checked funnel. `time` has the time column, then the columns that order events of the same time."""

    steps: tuple[Step, ...]
    keys: tuple[str, ...]
    time: tuple[str, ...]
    within: timedelta | None
    mode: Mode


def read_steps(steps: Any, type: Any, keys: Sequence[str]) -> tuple[Step, ...]:
    """Raises INVALID_STEPS, TYPE_COLUMN_MISSING, TYPE_NOT_LOCAL and the errors of a condition's text."""
    if isinstance(steps, Mapping):
        named = [(_step_name(name), _condition(name, text)) for name, text in steps.items()]
    elif isinstance(steps, Sequence) and not isinstance(steps, str | bytes):
        named = [_typed_step(values, type) for values in steps]
    else:
        raise QueryError("INVALID_STEPS", f"steps are a list or a dict, not {shown(steps)}", hint=_STEPS_HINT)
    if not 2 <= len(named) <= MOST_STEPS:
        message = f"a funnel has 2 to {MOST_STEPS} steps, not {len(named)}"
        raise QueryError("INVALID_STEPS", message, hint=_STEPS_HINT)
    names = _numbered([name for name, _ in named], (), " {}")
    taken = (*keys, LEVEL, COMPLETED)
    columns = _numbered([f"{_plain_word(name)}_at" for name in names], taken, "_{}")
    return tuple(Step(name, condition, at) for name, (_, condition), at in zip(names, named, columns, strict=True))


def _step_name(name: Any) -> str:
    return a_text("the name of a step", name, code="INVALID_STEPS", hint=_STEPS_HINT)


def _condition(name: str, text: Any) -> Expr:
    """A condition as written. It reads one event only, because it also decides which events may lie between steps."""
    a_text(f"the condition of step '{name}'", text, code="INVALID_STEPS", hint=_STEPS_HINT)
    with errors_quoting(text):
        condition = parse_expression(text)
        for node in walk(condition):
            if isinstance(node, Call) and (node.name in _READS_OTHER_ROWS or aggregate_name(node.name)):
                message = f"the condition of step '{name}' reads more than the event itself"
                hint = "write plain columns, no PREV, NEXT or aggregates; or write the clause by hand"
                raise QueryError("TYPE_NOT_LOCAL", message, span=node.span, hint=hint)
    return condition


def _typed_step(values: Any, type: Any) -> tuple[str, Expr]:
    """A type, or several types in a tuple."""
    if type is None:
        message = "the steps are types of events, and no argument names the column with the types"
        raise QueryError("TYPE_COLUMN_MISSING", message, hint='type="event"; or steps={name: condition}')
    column = ColumnRef((Name(a_text("type", type, hint='the name of a column: type="event"'), quoted=True),))
    types = values if isinstance(values, tuple) else (values,)
    if not types or not all(_is_type(value) for value in types):
        message = f"a step is a text, a whole number or a tuple of these, not {shown(values)}"
        raise QueryError("INVALID_STEPS", message, hint=_STEPS_HINT)
    literals = [string_literal(value) if isinstance(value, str) else parse_expression(str(value)) for value in types]
    test = Operator("=", (column, literals[0])) if len(types) == 1 else Operator("in", (column, *literals))
    return " or ".join(map(str, types)), test


def _is_type(value: Any) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def _plain_word(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") or "step"


def _numbered(names: Sequence[str], taken: Iterable[str], suffix: str) -> list[str]:
    """The names, with a number behind those that occur before, in any case.

    >>> _numbered(["view", "cart", "view"], (), " {}")
    ['view', 'cart', 'view 2']
    """
    used, result = {name.lower() for name in taken}, []
    for name in names:
        number, unique = 1, name
        while unique.lower() in used:
            number += 1
            unique = name + suffix.format(number)
        used.add(unique.lower())
        result.append(unique)
    return result


def read_within(value: Any) -> timedelta | None:
    """A length of time above zero, or None."""
    length = parse_interval(value) if isinstance(value, str) else value
    if length is None and value is None:
        return None
    if isinstance(length, timedelta) and timedelta(0) < length <= _LONGEST:
        return length
    message = f"within is a length of time above zero, not {shown(value)}"
    raise QueryError("INVALID_WITHIN", message, hint='within="1 hour"; without it there is no limit')


def read_mode(value: Any) -> Mode:
    if isinstance(value, str) and value in _NOT_OFFERED:
        raise QueryError("INVALID_OPTION", f"there is no mode '{value}': {_NOT_OFFERED[value]}", hint="docs/funnels.md")
    return Mode(one_of("mode", value, [mode.value for mode in Mode]))
