"""Short texts of Sigma rules, and the translation of one of them."""

from __future__ import annotations

from ostinato.sigma_rules import Problem, TranslatedRule, read_sigma


def base_rule(detection: str, name: str = "one") -> str:
    return (
        f"title: Rule {name}\nname: {name}\nlogsource: {{category: Process, product: linux}}\ndetection: {detection}\n"
    )


def correlation(content: str, *rules: str) -> str:
    return "---\n".join([*rules, f"title: Together\nname: together\ncorrelation: {{{content}}}\n"])


def only(text: str, **options: object) -> TranslatedRule:
    (rule,) = read_sigma(text, time="ts", **options)  # type: ignore[arg-type]
    return rule


def condition(detection: str, **options: object) -> str:
    """The condition of a rule with one selection, or the problem."""
    rule = only(base_rule(detection), **options)
    return rule.query.split("EVENT AS ")[1] if rule.query else str(rule.problems[0])


def problem(text: str) -> Problem:
    rule = only(text)
    assert rule.query == ""
    return rule.problems[0]


ONE, TWO = base_rule("{s: {a: 1}, condition: s}"), base_rule("{s: {a: 2}, condition: s}", "two")
COUNT = "type: event_count, rules: [one], timespan: 5m, condition"
