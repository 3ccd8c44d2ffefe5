"""A summary query -> the automaton of its expression, checked against the query's types. No kernels here."""

from __future__ import annotations

from ostinato.errors import QueryError, did_you_mean
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.language.type_automaton import TypeAutomaton, compile_expression


def query_automaton(query: SummaryQuery) -> TypeAutomaton:
    """Raises for errors in the expression, SUMMARY_PROBABILITIES and SUMMARY_UNKNOWN_TYPE."""
    automaton = compile_expression(query.expression, query.declared())
    if query.probabilities is not None:
        with_probability = {name for name, _ in query.probabilities}
        for name in automaton.types:
            if name not in with_probability:
                hint = did_you_mean(name, with_probability) or "a type that never comes has the probability 0"
                raise QueryError("SUMMARY_PROBABILITIES", f"'{name}' has no probability", hint=hint)
    for name in sorted(query.keyed_types or ()):
        if name not in automaton.types:
            near = did_you_mean(name, automaton.types)
            raise QueryError("SUMMARY_UNKNOWN_TYPE", f"keyed type '{name}' is not in the expression", hint=near)
    return automaton
