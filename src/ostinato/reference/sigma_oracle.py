"""Sigma rules judged by their definition in docs/sigma.md: YAML documents as dicts and events as dicts in, alerts out.

Slow, obvious, and independent of pySigma. Texts match in any case; a field that is missing matches only null.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

Event = Mapping[str, Any]
Rule = Mapping[str, Any]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Alert:
    key: tuple[object, ...]
    began: datetime
    ended: datetime
    events: int


@dataclass(frozen=True, slots=True)
class SigmaOracle:
    """The rules of one collection, by name."""

    rules: Mapping[str, Rule]
    time: str
    ties: tuple[str, ...] = ()
    """Columns that order events of one time."""

    # --- one event ----------------------------------------------------------------------------------------------------

    def matches(self, name: str, event: Event) -> bool:
        """Whether the event meets the condition of a rule."""
        detection = self.rules[name]["detection"]
        return _Condition(_words_of(detection["condition"]), detection, event).value()

    # --- many events --------------------------------------------------------------------------------------------------

    def alerts(self, name: str, events: Sequence[Event]) -> list[Alert]:
        """The alerts of a correlation. Each one uses up the events of its window."""
        correlation = self.rules[name]["correlation"]
        length = timedelta(seconds=int(correlation["timespan"][:-1]) * _UNITS[correlation["timespan"][-1]])
        found = []
        for key, ordered in self._groups(correlation, events):
            window: list[Event] = []
            for event in ordered:
                if not self._is_relevant(correlation, event):
                    continue
                window = [one for one in [*window, event] if event[self.time] - one[self.time] <= length]
                first = self._first_of_alert(correlation, window)
                if first is not None:
                    found.append(Alert(key, window[first][self.time], event[self.time], len(window) - first))
                    window = []
        return found

    def _groups(self, correlation: Rule, events: Sequence[Event]) -> Iterator[tuple[tuple[object, ...], list[Event]]]:
        groups: dict[tuple[object, ...], list[Event]] = {}
        timed = [event for event in events if event[self.time] is not None]
        for event in sorted(timed, key=lambda event: (event[self.time], *(event[name] for name in self.ties))):
            key = tuple(self._field(correlation, name, event) for name in _listed(correlation.get("group-by", [])))
            groups.setdefault(key, []).append(event)
        yield from groups.items()

    def _field(self, correlation: Rule, name: str, event: Event) -> object:
        """The value of a field, or of an alias: the field of the first rule that the event matches."""
        fields = correlation.get("aliases", {}).get(name)
        if fields is None:
            return event[name]
        return next((event[fields[rule]] for rule in _listed(correlation["rules"]) if self.matches(rule, event)), None)

    def _is_relevant(self, correlation: Rule, event: Event) -> bool:
        if not any(self.matches(rule, event) for rule in _listed(correlation["rules"])):
            return False
        return correlation["type"] != "value_count" or self._counted(correlation, event) is not None

    def _counted(self, correlation: Rule, event: Event) -> object:
        return self._field(correlation, correlation["condition"]["field"], event)

    def _first_of_alert(self, correlation: Rule, window: Sequence[Event]) -> int | None:
        """The place of the alert's first event, if the window's last event raises one."""
        match correlation["type"]:
            case "event_count":
                return 0 if self._is_enough(correlation["condition"], len(window)) else None
            case "value_count":
                values = {self._counted(correlation, event) for event in window}
                return 0 if self._is_enough(correlation["condition"], len(values)) else None
            case "temporal":
                return 0 if self._have_met(correlation, window) else None
            case kind:
                assert kind == "temporal_ordered"
                return self._first_in_order(correlation["rules"], window)

    def _is_enough(self, condition: Rule, count: int) -> bool:
        return bool(count >= condition["gte"] if "gte" in condition else count > condition["gt"])

    def _have_met(self, correlation: Rule, window: Sequence[Event]) -> bool:
        seen = {rule for rule in correlation["rules"] if any(self.matches(rule, event) for event in window)}
        condition = correlation.get("condition", {"gte": len(set(correlation["rules"]))})
        if isinstance(condition, str):
            return _Words(_words_of(condition), lambda name: name in seen).value()
        return self._is_enough(condition, len(seen))

    def _first_in_order(self, rules: Sequence[str], window: Sequence[Event]) -> int | None:
        """The earliest first event of a sequence that ends with the window's last event."""
        places = [
            chosen[0]
            for chosen in combinations(range(len(window)), len(rules))
            if chosen[-1] == len(window) - 1
            and all(self.matches(rule, window[place]) for rule, place in zip(rules, chosen, strict=True))
        ]
        return min(places, default=None)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _words_of(condition: str) -> list[str]:
    return re.findall(r"[()]|[^\s()]+", condition)


class _Words:
    """A condition in words: names, `and`, `or`, `not` and parentheses."""

    def __init__(self, words: Sequence[str], meaning: Callable[[str], bool]) -> None:
        self._words = list(words)
        self._meaning = meaning

    def value(self) -> bool:
        result = self._either()
        assert not self._words
        return result

    def _either(self) -> bool:
        values = [self._both()]
        while self._words[:1] == ["or"]:
            self._words.pop(0)
            values.append(self._both())
        return any(values)

    def _both(self) -> bool:
        values = [self._one()]
        while self._words[:1] == ["and"]:
            self._words.pop(0)
            values.append(self._one())
        return all(values)

    def _one(self) -> bool:
        word = self._words.pop(0)
        if word == "not":
            return not self._one()
        if word == "(":
            result = self._either()
            assert self._words.pop(0) == ")"
            return result
        if self._words[:1] == ["of"]:
            self._words.pop(0)
            return self._meaning(f"{word} of {self._words.pop(0)}")
        return self._meaning(word)


class _Condition(_Words):
    """The condition of a detection, for one event."""

    def __init__(self, words: Sequence[str], detection: Rule, event: Event) -> None:
        super().__init__(words, self._selected)
        self._detection = detection
        self._event = event

    def _selected(self, name: str) -> bool:
        if " of " not in name:
            return self._holds(self._detection[name])
        quantifier, pattern = name.split(" of ")
        names = [one for one in self._detection if one != "condition"]
        chosen = [one for one in names if pattern == "them" or fnmatch.fnmatchcase(one, pattern)]
        values = [self._holds(self._detection[one]) for one in chosen]
        return all(values) if quantifier == "all" else any(values)

    def _holds(self, selection: Any) -> bool:
        if isinstance(selection, list):
            return any(self._holds(one) for one in selection)
        return all(_passes(self._event, name, values) for name, values in selection.items())


def _passes(event: Event, name: str, values: Any) -> bool:
    """Whether a field passes the test that its name and modifiers say."""
    column, *modifiers = name.split("|")
    tests = [_passes_one(event[column], modifiers, value) for value in _listed(values)]
    passed = all(tests) if "all" in modifiers else any(tests)
    return not passed if "neq" in modifiers else passed


def _passes_one(actual: Any, modifiers: Sequence[str], value: Any) -> bool:
    if "exists" in modifiers:
        return (actual is not None) == bool(value)
    if value is None or actual is None:
        return actual is None and value is None
    if "re" in modifiers:
        return re.search(value, actual, re.IGNORECASE if "i" in modifiers else 0) is not None
    if "cidr" in modifiers:
        return ipaddress.ip_address(actual) in ipaddress.ip_network(value)
    comparisons = {"lt": actual.__lt__, "lte": actual.__le__, "gt": actual.__gt__, "gte": actual.__ge__}
    for modifier, compare in comparisons.items():
        if modifier in modifiers:
            return bool(compare(value))
    if not isinstance(value, str):
        return bool(actual == value)
    before = ".*" if {"contains", "endswith"} & set(modifiers) else ""
    after = ".*" if {"contains", "startswith"} & set(modifiers) else ""
    flags = re.DOTALL if "cased" in modifiers else re.DOTALL | re.IGNORECASE
    return re.fullmatch(before + _wildcards(value) + after, actual, flags) is not None


def _wildcards(value: str) -> str:
    """The value as a regular expression: `*` is any text, `?` is any character, a backslash makes them plain."""
    pieces = re.findall(r"\\[*?\\]|.", value, re.DOTALL)
    signs = {"*": ".*", "?": "."}
    return "".join(signs.get(piece) or re.escape(piece[-1]) for piece in pieces)
