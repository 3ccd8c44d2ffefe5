"""A planned clause -> the text of its explanation, in six sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa
from ostinato.clause.language.clause_render import render_clause, render_pattern, render_variable
from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.explanation.conditions_text import condition_lines
from ostinato.explanation.execution_text import execution_lines
from ostinato.explanation.planned_clause import PlannedClause
from ostinato.explanation.readable import key_name, plain_name, readable
from ostinato.explanation.text_sections import numbered
from ostinato.expressions.syntax import Column, Expr, SubQuery, walk
from ostinato.pictures.automaton_layout import state_names

MAX_STATES_SHOWN = 40
MAX_CHOICES_SHOWN = 20

_REWRITES = {
    "flatten": "redundant groups removed",
    "drop_empty": "empty elements removed",
    "drop_repeated_options": "repeated alternatives removed",
    "merge_quantifiers": "nested quantifiers merged",
}


def clause_text(planned: PlannedClause) -> str:
    """The whole explanation of one clause."""
    plan = planned.plan
    query_lines = _query_lines(plan.bound.clause) if plan.window is None else _window_lines(plan.window)
    sections = (
        ("The query as understood", query_lines),
        ("The pattern", _pattern_lines(plan)),
        (_automaton_title(plan.nfa), _automaton_lines(plan.nfa)),
        ("When a row qualifies", condition_lines(planned)),
        ("Columns sent to the workers, and measures", _shipping_lines(planned)),
        ("How it runs", execution_lines(planned)),
    )
    return numbered(sections, wrap=True)


# --- 1. query ---


def query_text(clause: MatchRecognize) -> str:
    """The clause with one measure and one condition a line. It parses to the same query."""
    return "\n".join(_query_lines(clause))


def _query_lines(clause: MatchRecognize) -> list[str]:
    measures = [f"{readable(m.expression)} AS {plain_name(m.name)}" for m in clause.measures]
    conditions = [f"{render_variable(d.variable)} AS {readable(d.condition)}" for d in clause.definitions]
    # Measures and conditions may contain line breaks. Without them, each line is one clause.
    lines = render_clause(replace(clause, measures=(), definitions=())).split("\n")
    before = bool(clause.partition_by) + bool(clause.order_by)
    return [*lines[:before], *_listed("MEASURES ", measures), *lines[before:], *_listed("DEFINE ", conditions)]


def _window_lines(window: WindowPattern) -> list[str]:
    """The window with its frame in the place of ROWS PER MATCH."""
    ends = {None: "UNBOUNDED FOLLOWING", 0: "CURRENT ROW"}
    frame = f"ROWS BETWEEN CURRENT ROW AND {ends.get(window.frame_end, f'{window.frame_end} FOLLOWING')}"
    mode = "SEEK" if window.seek else "INITIAL"
    lines = [frame if line == window.clause.output.value else line for line in _query_lines(window.clause)]
    return [f"{mode} {line}" if line.startswith("PATTERN (") else line for line in lines]


def _listed(word: str, items: Sequence[str]) -> list[str]:
    """`WORD first,` and the other items below the first."""
    last = len(items) - 1
    return [f"{word if i == 0 else ' ' * len(word)}{item}{'' if i == last else ','}" for i, item in enumerate(items)]


# --- 2. pattern ---


def _pattern_lines(plan: MatchPlan) -> list[str]:
    steps = [("as written", render_pattern(plan.bound.clause.pattern))]
    for rewrite in plan.rewrites:
        steps.append((_REWRITES.get(rewrite.name, rewrite.name.replace("_", " ")), render_pattern(rewrite.pattern)))
    if len(steps) == 1:
        return [steps[0][1], "No rewrite applies."]
    width = max(len(name) for name, _ in steps)
    return [f"{name:<{width}}  {pattern}" for name, pattern in steps]


# --- 3. automaton ---


def _automaton_title(nfa: Nfa) -> str:
    count = len(nfa.states)
    return f"The automaton: {count} state{'s' * (count != 1)}, choices in order of preference"


def _automaton_lines(nfa: Nfa) -> list[str]:
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
        lines.append(f"A bound of {bound} counts as unbounded, so a partition must have fewer rows than that.")
    return lines


def _choices(choices: Sequence[int], names: Sequence[str]) -> str:
    ends = {ACCEPT: "match", ACCEPT_AT_END: "match (if no row is left)"}
    words = [ends[choice] if choice < 0 else names[choice] for choice in choices[:MAX_CHOICES_SHOWN]]
    if len(choices) > MAX_CHOICES_SHOWN:
        words.append(f"... ({len(choices) - MAX_CHOICES_SHOWN:,} more)")
    return ", else ".join(words) or "no transition"


# --- 5. shipping ---


def _shipping_lines(planned: PlannedClause) -> list[str]:
    plan = planned.plan
    bound = plan.bound
    keys = dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by)))
    plain = dict.fromkeys((*keys, *(item.name for item in plan.inputs if not item.is_computed)))
    computed = [item for item in plan.inputs if item.is_computed]
    lines = [f"columns          {', '.join(key_name(bound, name) for name in plain) or 'none'}"]
    if computed:
        lines.append(
            f"computed first   {', '.join(readable(item.expr) for item in computed)} (computed by Spark on each row)"
        )
    if plan.row_conditions:
        count = len(plan.row_conditions)
        lines.append(f"packed bits      {count} condition{'s' * (count != 1)} on single rows, one bit each")
    if planned.columns.from_table:
        unused = [name for name in planned.columns.names if name not in plain]
        if unused:
            more = ", ..." if len(unused) > 12 else ""
            lines.append(f"not sent         {', '.join(plain_name(name) for name in unused[:12])}{more}")
    return [*lines, *_sub_query_lines(bound.clause), *_measure_lines(plan)]


def _sub_query_lines(clause: MatchRecognize) -> list[str]:
    written = [*(each.expression for each in clause.measures), *(each.condition for each in clause.definitions)]
    found = [node for expr in written for node in walk(expr) if isinstance(node, SubQuery)]
    texts = ", ".join(f"({' '.join(node.text.split())})" for node in found)
    return [f"sub-queries      {texts}: ost.sql evaluates each once, before matching"] if found else []


def _measure_lines(plan: MatchPlan) -> list[str]:
    """One line for each measure: the values read from the match, and the expression that Spark computes from them."""
    bound = plan.bound
    lines = []
    written = bound.clause.measures
    measures = (*written, *bound.measures[len(written) :])  # those that options add have no text
    for i, (measure, outer) in enumerate(zip(measures, plan.outer, strict=True)):
        used = [node.name for node in walk(outer) if isinstance(node, Column)]
        marks = {name: f"[{number}]" for number, name in enumerate(dict.fromkeys(used), start=1)}
        if isinstance(outer, Column):
            text = f"{readable(measure.expression)}, read from the match"
        else:
            values = [f"{mark} = {readable(_slot(plan, name), bound.unions)}" for name, mark in marks.items()]
            text = f"{readable(outer, leaf=lambda node, marks=marks: _mark(node, marks))}, computed by Spark"  # type: ignore[misc]
            text += f" from {', '.join(values)} of the match" if values else ""
        lines.append(f"{'measures' if i == 0 else '':<15}  {plain_name(measure.name)} = {text}")
    return lines or ["measures         none"]


def _slot(plan: MatchPlan, name: str) -> Expr:
    return next(slot for i, slot in enumerate(plan.slots) if slot_name(i) == name)


def _mark(node: Expr, marks: dict[str, str]) -> str | None:
    return marks.get(node.name) if isinstance(node, Column) else None
