"""A query -> how it is understood and run, for people: text and a picture of the automaton. No row is read.

>>> from ostinato.explanation import explain
>>> print(explain("ORDER BY ts MEASURES LAST(ts) AS t PATTERN (A B* C) DEFINE B AS price < PREV(price)").text)
1. The query as understood
   ORDER BY ts
   ...
3. The automaton: 3 states, choices in order of preference
   start -> A
   A     -> B, else C
   B     -> B, else C
   C     -> match
...
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.explanation.asked import Asked, read_question
from ostinato.explanation.clauses_text import clause_sections, underlined
from ostinato.explanation.correlation_text import AsksCorrelation, correlations_text
from ostinato.explanation.events_svg import event_picture
from ostinato.explanation.events_text import AsksEvents, AsksWorkload, Ran, explain_events
from ostinato.explanation.losses_text import losses_part
from ostinato.explanation.readable import readable
from ostinato.explanation.summary_text import AsksSummary, summary_automaton, summary_text
from ostinato.explanation.text import clause_text
from ostinato.explanation.understood import Understood, understand
from ostinato.pictures.automaton_svg import Picture, draw_automata

_PRE = "font-family:monospace;white-space:pre;line-height:1.35;overflow-x:auto"
"""Some notebooks give <pre> a proportional font and wrap its lines; the text is drawn in columns."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """`text` for terminals, `svg` a self-contained picture; notebooks show both."""

    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div><pre style="{_PRE}">{escape(self.text)}</pre>'


@only_our_errors()
def explain(query: Any, table: Any = None) -> Explanation:
    """How a query is understood and run: pattern, automaton, conditions, what is shipped, engine and plan.

    `query` is the text of a clause, SQL text with MATCH_RECOGNIZE in it (one section per clause, and one for each
    correlation of two), an `ost.pattern(...)`, a parsed clause, an `ost.events(...)`, an `ost.Workload(...)`, or what
    its `run` gave, with what was shared, an `ost.correlate(...)`, or an `ost.summary(...)`. `table` gives the input's
    columns: a pyarrow Table or Schema, a pandas or Spark DataFrame, or a dict of those by table name. Without it the
    columns are those that the query mentions, and what hangs on their types stays open.
    """
    if isinstance(query, Ran):
        return _workload(query.workload, query.input if table is None else table, query)
    if isinstance(query, AsksWorkload):
        return _workload(query, table)
    if isinstance(query, AsksEvents):
        return Explanation(explain_events(query, table), event_picture(query, table))
    if isinstance(query, AsksSummary):
        return Explanation(summary_text(query), summary_automaton(query))
    if isinstance(query, AsksCorrelation):
        return _several(
            {name: explain(text, query.live if table is None else table) for name, text in query.texts.items()}
        )
    questions = read_question(query, table)
    found = [understand(asked) for asked in questions]
    texts = [_titled(asked, clause_text(each), len(questions)) for asked, each in zip(questions, found, strict=True)]
    pictures = [_picture(asked, each, len(questions)) for asked, each in zip(questions, found, strict=True)]
    correlations = correlations_text(query) if isinstance(query, str) and len(questions) > 1 else None
    if correlations is not None:
        texts.insert(0, correlations)
    return Explanation("\n\n".join(texts), draw_automata(pictures))


def _several(explanations: dict[str, Explanation]) -> Explanation:
    """Explanations of several queries, each under its name; a single one without a name."""
    if len(explanations) == 1:
        return next(iter(explanations.values()))
    texts = (f"{name}\n{'=' * len(name)}\n{each.text}" for name, each in explanations.items())
    return Explanation("\n\n".join(texts), "\n".join(each.svg for each in explanations.values()))


def _workload(workload: AsksWorkload, table: Any, ran: Ran | None = None) -> Explanation:
    """The event queries as one, then each MATCH_RECOGNIZE by itself."""
    texts, pictures = [], []
    losses = losses_part(ran) if ran else None
    if workload.events:
        texts.append(explain_events(workload, table, ran.statistics if ran else None, losses))
        pictures.append(event_picture(workload, table))
    understood = {name: understand(read_question(query.clause, table)[0]) for name, query in workload.clauses.items()}
    texts += clause_sections(workload, understood, table)
    for name, query in workload.clauses.items():
        explanation = explain(query.clause, table)
        texts.append(f"{name}\n{'=' * len(name)}\n{explanation.text}")
        pictures.append(explanation.svg)
    if losses is not None and not workload.events:
        texts.append(underlined(*losses))
    return Explanation("\n\n".join(texts), "\n".join(pictures))


def _titled(question: Asked, text: str, count: int) -> str:
    if count == 1:
        return text
    line = f"MATCH_RECOGNIZE {question.number} of {count}, on {question.input_text}"
    return f"{line}\n{'=' * len(line)}\n{text}"


def _picture(question: Asked, understood: Understood, count: int) -> Picture:
    bound = understood.plan.bound
    conditions = {definition.variable: readable(definition.condition) for definition in bound.clause.definitions}
    caption = f"{question.number}. on {question.input_text}" if count > 1 else ""
    return Picture(understood.plan.nfa, conditions, caption)


__all__ = ["Explanation", "explain"]
