"""Equal sub-patterns at other offsets -> segments: chains that are matched once, and that patterns then join.

A chain is two or more single events in a row: no loop, nothing absent or adjacent inside, no match ends inside. Chains
are equal if their events have equal conditions, alone and among themselves. Their patterns must have equal extents, and
all of them a bound or none.

A segment is also matched where no prefix precedes it. That costs work, so a chain becomes a segment only under three
conditions. At least two patterns contain it. Their states aren't one node already. A condition between its events
rejects most sub-matches. Of overlapping chains the one that saves most states is taken. A pattern joins a segment at
most once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.workloads.merging.drafts import NO_PATTERN, Draft, DraftStep, reachable
from ostinato.workloads.merging.pattern_program import START
from ostinato.workloads.merging.renamed_conditions import events_read, renamed
from ostinato.workloads.merging.state_classes import classes_of

LONGEST = 16
"""Events of the longest chain that is considered: there are as many chains as pairs of states."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """The steps of one draft that a segment may replace."""

    draft: int
    steps: tuple[DraftStep, ...]
    inside: tuple[tuple[RunCondition, ...], ...]
    """[step] the checks that read events of the chain only."""
    outside: tuple[RunCondition, ...]
    """The checks that also read earlier events."""
    state_class: int
    """The class of its last state. Chains of one class are one node already."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(step.label for step in self.steps)

    @property
    def states(self) -> frozenset[int]:
        return frozenset(step.target for step in self.steps)

    def key(self, draft: Draft) -> Hashable:
        """Equal for equal chains: variables are named by their position in the chain. `draft` is the chain's own."""
        local = {name: f"@{position}" for position, name in enumerate(self.names)}
        checks = tuple(frozenset(renamed(check, local) for check in checks) for checks in self.inside)
        conditions, edges = tuple(step.condition for step in self.steps), tuple(step.edges for step in self.steps[1:])
        return draft.shares_with, conditions, edges, checks


def with_segments(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with segments in place of chains, followed by the segments as drafts."""
    equal_chains: dict[Hashable, list[_Chain]] = {}
    for chain in _chains(drafts):
        equal_chains.setdefault(chain.key(drafts[chain.draft]), []).append(chain)
    candidates = sorted(filter(_are_worth_it, equal_chains.values()), key=_saving, reverse=True)
    result = list(drafts)
    segments: list[Draft] = []
    used_states: dict[int, set[int]] = {}
    for chains in candidates:
        free = [chain for chain in chains if not used_states.get(chain.draft, set()) & chain.states]
        names, members = _agreed(free, result)
        if not _are_worth_it(members):
            continue
        for chain in members:
            used_states.setdefault(chain.draft, set()).update(chain.states)
            result[chain.draft] = _joined(result[chain.draft], chain, names, len(segments))
        segments.append(_segment(members[0], names, drafts[members[0].draft]))
    return [*result, *segments]


# --- chains -----------------------------------------------------------------------------------------------------------


def _chains(drafts: Sequence[Draft]) -> Iterator[_Chain]:
    """All chains with a condition between their own events."""
    classes = classes_of(drafts)
    for number, draft in enumerate(drafts):
        for steps in _stretches(draft):
            split = _split_checks(steps)
            if split is not None and (any(split[0]) or any(step.edges for step in steps[1:])):
                yield _Chain(number, steps, *split, classes.of(number, steps[-1].target))


def _stretches(draft: Draft) -> Iterator[tuple[DraftStep, ...]]:
    """Two or more steps in a row, each the only one between two states that take one event in every match."""
    entering: dict[int, list[DraftStep]] = {}
    leaving: dict[int, list[DraftStep]] = {}
    states_of: dict[str, set[int]] = {}
    for step in draft.steps:
        entering.setdefault(step.target, []).append(step)
        leaving.setdefault(step.source, []).append(step)
        states_of.setdefault(step.label, set()).add(step.target)
    following = {state: {step.target for step in steps} for state, steps in leaving.items()}
    in_loops = {state for state in following if state in reachable(following[state], following)}

    def is_single(step: DraftStep) -> bool:
        alone = len(entering[step.target]) == 1 and len(states_of[step.label]) == 1
        return alone and step.target not in in_loops and not step.adjacent

    for first in draft.steps:
        steps = [first]
        while is_single(steps[-1]) and len(steps) < LONGEST and steps[-1].target not in draft.accepting:
            onward = leaving.get(steps[-1].target, [])
            if len(onward) != 1 or onward[0].absent or not is_single(onward[0]):
                break
            steps.append(onward[0])
            yield tuple(steps)


def _split_checks(
    steps: Sequence[DraftStep],
) -> tuple[tuple[tuple[RunCondition, ...], ...], tuple[RunCondition, ...]] | None:
    """Returns the checks inside the chain, by step, and those that read earlier events. None if one can't wait."""
    inside: list[tuple[RunCondition, ...]] = []
    outside: list[RunCondition] = []
    bound: set[str] = set()
    for position, step in enumerate(steps):
        bound.add(step.label)
        own = tuple(check for check in step.checks if _reads_only(check, bound, is_first=position == 0))
        inside.append(own)
        outside.extend(check for check in step.checks if check not in own)
    return (tuple(inside), tuple(outside)) if all(map(_can_wait, outside)) else None


def _reads_only(check: RunCondition, bound: set[str], *, is_first: bool) -> bool:
    """Whether a check reads nothing but these variables. A check without a variable reads the event before."""
    return all(not is_first if read.rows is None else read.rows <= bound for read in events_read(check.condition))


def _can_wait(check: RunCondition) -> bool:
    """Whether it may be checked a few events later: each of its reads names one variable."""
    return all(read.rows is not None and len(read.rows) == 1 for read in events_read(check.condition))


# --- choosing segments ------------------------------------------------------------------------------------------------


def _are_worth_it(chains: Sequence[_Chain]) -> bool:
    return len({chain.draft for chain in chains}) > 1 and len({chain.state_class for chain in chains}) > 1


def _saving(chains: Sequence[_Chain]) -> tuple[int, int]:
    """Returns the number of states that are saved, and the length."""
    length = len(chains[0].steps)
    return len({chain.state_class for chain in chains}) * (length - 1) - length, length


def _agreed(chains: Sequence[_Chain], drafts: Sequence[Draft]) -> tuple[tuple[str, ...], list[_Chain]]:
    """Returns the variable names that most patterns can use for the segment, and one chain of each of them."""

    def takers(names: tuple[str, ...]) -> list[_Chain]:
        first: dict[int, _Chain] = {}
        for chain in chains:
            if not set(names) & (set(drafts[chain.draft].names) - set(chain.names)):
                first.setdefault(chain.draft, chain)
        return list(first.values())

    # Names at the start of a pattern stay if possible: other patterns may share them as a prefix.
    options = dict.fromkeys(chain.names for chain in sorted(chains, key=lambda chain: chain.steps[0].source != START))
    return max(((names, takers(names)) for names in options), key=lambda option: len(option[1]), default=((), []))


# --- cutting ----------------------------------------------------------------------------------------------------------


def _joined(draft: Draft, chain: _Chain, names: tuple[str, ...], segment: int) -> Draft:
    """The draft with one step over the segment in place of the chain. A chain at the start is the segment itself."""
    draft = draft.renamed(dict(zip(chain.names, names, strict=True)))
    if chain.steps[0].source == START:
        return draft
    by_target = {step.target: step for step in draft.steps if step.target in chain.states}
    steps = [by_target[step.target] for step in chain.steps]
    split = _split_checks(steps)
    assert split is not None, "it could be split before it was renamed"
    over = replace(steps[0], label=names[-1], target=steps[-1].target, checks=split[1], segment=segment)
    others = tuple(step for step in draft.steps if step.target not in chain.states)
    return replace(draft, steps=(*others, over))


def _segment(chain: _Chain, names: tuple[str, ...], draft: Draft) -> Draft:
    local = dict(zip(chain.names, names, strict=True))
    steps = tuple(
        DraftStep(
            source=position,
            label=names[position],
            target=position + 1,
            condition=step.condition,
            checks=tuple(renamed(check, local) for check in chain.inside[position]),
            edges=step.edges if position else (),
        )
        for position, step in enumerate(chain.steps)
    )
    return Draft(NO_PATTERN, names, len(steps) + 1, steps, {len(steps): ()}, *draft.shares_with)
