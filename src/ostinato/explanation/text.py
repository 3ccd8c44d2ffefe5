"""An understood clause -> the text of its explanation, in six parts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa
from ostinato.clause.language.clause_render import render_clause, render_pattern, render_variable
from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.clause.query.clause import MatchRecognize
from ostinato.explanation.conditions_text import conditions_part
from ostinato.explanation.execution_text import execution_part
from ostinato.explanation.readable import plain_name, readable
from ostinato.explanation.understood import Understood
from ostinato.expressions.syntax import Column, Expr, walk
from ostinato.pictures.automaton_layout import state_names

INDENT = "   "
WIDTH = 110
MAX_STATES_SHOWN = 40
MAX_CHOICES_SHOWN = 20

_REWRITES = {
    "flatten": "groups without need opened",
    "drop_empty": "empty parts dropped",
    "drop_repeated_options": "repeated options dropped",
    "merge_quantifiers": "nested loops merged",
}


def clause_text(understood: Understood) -> str:
    """The whole explanation of one clause."""
    plan = understood.plan
    parts = (
        ("The query as understood", _query_part(plan.bound.clause)),
        ("The pattern", _pattern_part(plan)),
        (_automaton_title(plan.nfa), _automaton_part(plan.nfa)),
        ("When a row qualifies", conditions_part(understood)),
        ("What is shipped and what comes back", _shipping_part(understood)),
        ("How it runs", execution_part(understood)),
    )
    return "\n\n".join(_numbered(i, title, lines) for i, (title, lines) in enumerate(parts, start=1))


def _numbered(number: int, title: str, lines: Iterable[str]) -> str:
    if number > 1:  # the query stays as it is: one may want to copy it
        lines = (part for line in lines for part in _wrapped(line))
    return "\n".join([f"{number}. {title}", *(INDENT + line for line in lines)])


def _wrapped(line: str) -> list[str]:
    """Breaks long lines; the rest is indented to the text behind the label."""
    if len(line) <= WIDTH:
        return [line]
    indent = len(line) - len(line.lstrip())
    label_end = line.find("  ", indent)
    hanging = len(line) - len(line[label_end:].lstrip()) if 0 <= label_end < 40 else indent + 2
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False)


# --- 1. query ---


def query_text(clause: MatchRecognize) -> str:
    """The clause with one measure and one condition a line; parses to the same query."""
    return "\n".join(_query_part(clause))


def _query_part(clause: MatchRecognize) -> list[str]:
    measures = [f"{readable(m.expression)} AS {plain_name(m.name)}" for m in clause.measures]
    conditions = [f"{render_variable(d.variable)} AS {readable(d.condition)}" for d in clause.definitions]
    # Without these two, a line is a clause: no literal that holds a line break can stand in it.
    lines = render_clause(replace(clause, measures=(), definitions=())).split("\n")
    before = bool(clause.partition_by) + bool(clause.order_by)
    return [*lines[:before], *_listed("MEASURES ", measures), *lines[before:], *_listed("DEFINE ", conditions)]


def _listed(word: str, items: Sequence[str]) -> list[str]:
    """`WORD first,` and the others below the first."""
    last = len(items) - 1
    return [f"{word if i == 0 else ' ' * len(word)}{item}{'' if i == last else ','}" for i, item in enumerate(items)]


# --- 2. pattern ---


def _pattern_part(plan: MatchPlan) -> list[str]:
    steps = [("as written", render_pattern(plan.bound.clause.pattern))]
    for rewrite in plan.rewrites:
        steps.append((_REWRITES.get(rewrite.name, rewrite.name.replace("_", " ")), render_pattern(rewrite.pattern)))
    if len(steps) == 1:
        return [steps[0][1], "nothing to simplify"]
    width = max(len(name) for name, _ in steps)
    return [f"{name:<{width}}  {pattern}" for name, pattern in steps]


# --- 3. automaton ---


def _automaton_title(nfa: Nfa) -> str:
    count = len(nfa.states)
    return f"The automaton: {count} state{'s' * (count != 1)}, choices in order of preference"


def _automaton_part(nfa: Nfa) -> list[str]:
    names = state_names(nfa)
    entries = [("start", nfa.elsewhere)]
    if nfa.at_start != nfa.elsewhere:
        entries = [("start, at the first row", nfa.at_start), ("start, elsewhere", nfa.elsewhere)]
    shown = nfa.states[:MAX_STATES_SHOWN]
    entries += [(name, state.choices) for name, state in zip(names, shown, strict=False)]
    width = max(len(name) for name, _ in entries)
    lines = [f"{name:<{width}} -> {_choices(choices, names)}" for name, choices in entries]
    if len(shown) < len(nfa.states):
        lines.append(f"... and {len(nfa.states) - len(shown):,} more states")
    if nfa.longest_partition is not None:
        bound = f"{nfa.longest_partition:,}"
        lines.append(f"a bound of {bound} is taken as none: partitions must have fewer rows than that")
    return lines


def _choices(choices: Sequence[int], names: Sequence[str]) -> str:
    ends = {ACCEPT: "match", ACCEPT_AT_END: "match (if no row is left)"}
    words = [ends[choice] if choice < 0 else names[choice] for choice in choices[:MAX_CHOICES_SHOWN]]
    if len(choices) > MAX_CHOICES_SHOWN:
        words.append(f"... ({len(choices) - MAX_CHOICES_SHOWN:,} more)")
    return ", else ".join(words) or "nowhere"


# --- 5. shipping ---


def _shipping_part(understood: Understood) -> list[str]:
    plan = understood.plan
    bound = plan.bound
    keys = dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by)))
    plain = dict.fromkeys((*keys, *(item.name for item in plan.inputs if not item.is_computed)))
    computed = [item for item in plan.inputs if item.is_computed]
    lines = [f"columns          {', '.join(plain_name(name) for name in plain) or 'none'}"]
    if computed:
        lines.append(f"computed first   {', '.join(readable(item.expr) for item in computed)}  (by Spark, of each row)")
    if plan.row_conditions:
        count = len(plan.row_conditions)
        lines.append(f"packed bits      {count} condition{'s' * (count != 1)} of single rows, a bit each")
    if understood.columns.given:
        unused = [name for name in understood.columns.names if name not in plain]
        if unused:
            more = ", ..." if len(unused) > 12 else ""
            lines.append(f"left behind      {', '.join(plain_name(name) for name in unused[:12])}{more}")
    return lines + _measures_part(plan)


def _measures_part(plan: MatchPlan) -> list[str]:
    """A line per measure: the values read from the match, and the expression that Spark computes from them."""
    bound = plan.bound
    lines = []
    for i, (measure, outer) in enumerate(zip(bound.clause.measures, plan.outer, strict=True)):
        used = [node.name for node in walk(outer) if isinstance(node, Column)]
        places = {name: f"[{number}]" for number, name in enumerate(dict.fromkeys(used), start=1)}
        if isinstance(outer, Column):
            told = f"{readable(measure.expression)}, read from the match"
        else:
            read = [f"{places[name]} is {readable(_slot(plan, name), bound.unions)}" for name in places]
            told = f"{readable(outer, leaf=lambda node, places=places: _place(node, places))}, computed by Spark"  # type: ignore[misc]
            told += f", where {', '.join(read)} of the match" if read else ""
        lines.append(f"{'measures' if i == 0 else '':<15}  {plain_name(measure.name)} = {told}")
    return lines or ["measures         none"]


def _slot(plan: MatchPlan, name: str) -> Expr:
    return next(slot for i, slot in enumerate(plan.slots) if slot_name(i) == name)


def _place(node: Expr, places: dict[str, str]) -> str | None:
    return places.get(node.name) if isinstance(node, Column) else None
