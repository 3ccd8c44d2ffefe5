"""Clause -> text that reads back as the same clause."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from ostinato.clause.query.clause import MatchMode, MatchRecognize, PartitionKey, SkipKind, SortKey
from ostinato.clause.query.months import Months
from ostinato.clause.query.pattern import (
    Alternation,
    Concat,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Pattern,
    Permute,
    Quantified,
    Variable,
)
from ostinato.clause.query.window_pattern import shown_variable
from ostinato.expressions.render import quote, render_expression, render_name
from ostinato.rows.column_names import KEY


def render_pattern(pattern: Pattern) -> str:
    """The pattern as it is written.

    >>> from ostinato.clause.language.pattern_parser import parse_row_pattern
    >>> render_pattern(parse_row_pattern('A ( b | "b" ){2,}? {- C -}'))
    'A (B | "b"){2,}? {- C -}'
    """
    match pattern:
        case Variable(name) if shown_variable(name) != name:
            return shown_variable(name)
        case Variable(name):
            plain = name == name.upper() and name.replace("_", "a").isalnum() and not name[0].isdigit()
            reserved = name == "PERMUTE"
            return name if plain and not reserved else '"' + name.replace('"', '""') + '"'
        case Concat(parts):
            return " ".join(_grouped(element, Alternation, Concat) for element in parts)
        case Alternation(options):
            return " | ".join(_grouped(option, Alternation) for option in options)
        case Permute(elements):
            return f"PERMUTE({', '.join(render_pattern(element) for element in elements)})"
        case Exclusion(body):
            return f"{{- {render_pattern(body)} -}}"
        case Quantified(body, at_least, at_most, greedy):
            return _grouped(body, Alternation, Concat, Quantified) + _quantifier(at_least, at_most, greedy)
        case Empty():
            return "()"
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"


def _grouped(pattern: Pattern, *kinds: type) -> str:
    text = render_pattern(pattern)
    return f"({text})" if isinstance(pattern, kinds) else text


def _quantifier(at_least: int, at_most: int | None, greedy: bool) -> str:
    short: Mapping[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    text = short.get((at_least, at_most))
    if text is None:
        text = f"{{{at_least}}}" if at_least == at_most else f"{{{at_least},{'' if at_most is None else at_most}}}"
    return text if greedy else text + "?"


def render_clause(query: MatchRecognize) -> str:
    """The clause as text that parses to the same query."""
    lines = []
    if query.partition_by:
        lines.append("PARTITION BY " + ", ".join(_partition_key(key) for key in query.partition_by))
    if query.order_by:
        lines.append("ORDER BY " + ", ".join(_sort_key(key) for key in query.order_by))
    if query.measures:
        measures = (f"{render_expression(measure.expression)} AS {quote(measure.name)}" for measure in query.measures)
        lines.append("MEASURES " + ", ".join(measures))
    lines.append(query.output.value + (" SHOW TIMEOUT MATCHES" if query.show_timeouts else ""))
    lines.append(_after_match(query))
    lines.append(f"PATTERN ({render_pattern(query.pattern)})")
    if query.within is not None:
        lines.append(f"WITHIN {_interval(query.within)}")
    if query.max_length is not None:
        lines.append(f"MAXLENGTH {query.max_length}")
    if query.subsets:
        subsets = (
            f"{render_variable(s.name)} = ({', '.join(render_variable(m) for m in s.members)})" for s in query.subsets
        )
        lines.append("SUBSET " + ", ".join(subsets))
    if query.definitions:
        defined = (f"{render_variable(d.variable)} AS {render_expression(d.condition)}" for d in query.definitions)
        lines.append("DEFINE " + ", ".join(defined))
    return "\n".join(lines)


def render_variable(name: str) -> str:
    """The variable's name, quoted where it has to be."""
    return render_pattern(Variable(name))


def _partition_key(key: PartitionKey) -> str:
    is_named = key.expression is not None and not key.column.text.startswith(KEY)
    return _key(key) + (f" AS {quote(key.column.text)}" if is_named else "")


def _key(key: PartitionKey | SortKey) -> str:
    return render_name(key.column) if key.expression is None else render_expression(key.expression)


def _sort_key(key: SortKey) -> str:
    nulls = "" if key.nulls_first is None else f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
    return f"{_key(key)}{' DESC' if key.descending else ''}{nulls}"


def _after_match(query: MatchRecognize) -> str:
    if query.mode is not MatchMode.PREFERRED:
        return str(query.mode.value)
    target = f" {render_variable(query.skip.target)}" if query.skip.target is not None else ""
    kind = query.skip.kind
    return f"AFTER MATCH {kind.value}{target if kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST) else ''}"


def _interval(length: timedelta | Months) -> str:
    if isinstance(length, Months):
        return f"INTERVAL '{length.count}' MONTH"
    microseconds = length // timedelta(microseconds=1)
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"INTERVAL '{seconds}.{rest:06d}' SECOND" if rest else f"INTERVAL '{seconds}' SECOND"
