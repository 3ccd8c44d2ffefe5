"""Checks the arguments of `ost.paths`: options, path queries and names of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ostinato.calls.bounds import read_bounds
from ostinato.calls.options import known_names, shown, true_or_false, whole_number
from ostinato.errors import QueryError
from ostinato.kernels.clock import Clock, RealClock, check_clock
from ostinato.path_queries.language.path_parser import path_query
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.search.budget import DEFAULT_MAX_HOPS, DEFAULT_MAX_PARTIAL_PATHS, UNLIMITED, Budget
from ostinato.path_queries.similarity import Similarity

if TYPE_CHECKING:
    from ostinato.path_queries.search.path_selection import Chooser


@dataclass(frozen=True, slots=True)
class PathOptions:
    """The options of a walk: see `ost.paths`."""

    simple: bool = False
    max_hops: int = DEFAULT_MAX_HOPS
    max_partial_paths: int | None = None
    limit: int | None = None
    end: tuple[str, ...] | None = None
    budget: Budget = field(default_factory=Budget)
    similarity: Similarity | None = None
    chooser: Callable[[Similarity], Chooser] | None = None
    """The rule that chooses partial paths under a bound; None: SHARP's. Benchmarks compare it with others."""

    def __post_init__(self) -> None:
        true_or_false("simple", self.simple)
        whole_number("max_hops", self.max_hops, least=0)
        for name in ("max_partial_paths", "limit"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        if self.similarity is not None and not callable(self.similarity):
            raise QueryError("INVALID_OPTION", "similarity is a function of (relations of a path, query)")

    @property
    def most_partial_paths(self) -> int:
        """`max_partial_paths`, or its default. With a memory bound, there is no other limit by default."""
        if self.max_partial_paths is not None:
            return min(self.max_partial_paths, UNLIMITED)
        return DEFAULT_MAX_PARTIAL_PATHS if self.budget.memory_bytes is None else UNLIMITED


_READ_INTO_BUDGET = ("latency_bound", "memory_bound", "clock")
_NOT_PUBLIC = ("budget", "chooser")
_OPTION_NAMES = (*(one.name for one in fields(PathOptions) if one.name not in _NOT_PUBLIC), *_READ_INTO_BUDGET)


def path_options(
    *,
    end: str | int | Iterable[str | int] | None = None,
    latency_bound: Any = None,
    memory_bound: str | int | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> PathOptions:
    """The checked options. Raises INVALID_OPTION, INVALID_BOUND."""
    known_names(options, _OPTION_NAMES)
    bounds = read_bounds(["paths"], latency_bound=latency_bound, memory_bound=memory_bound)
    (latency,) = bounds.latency
    if latency is not None and latency.ns is None:
        raise QueryError(
            "INVALID_BOUND",
            f"latency_bound is {latency_bound!r}, but the time of a walk without a bound isn't known",
            hint="give a time, such as '5 ms'",
        )
    check_clock(clock)
    budget = Budget(None if latency is None else latency.ns, bounds.memory_bytes, clock or RealClock())
    return PathOptions(end=None if end is None else node_names("end", end), budget=budget, **options)


def read_path_queries(queries: Any) -> tuple[PathQuery, ...]:
    """One or several texts or PathQuery values, perhaps by name. At least one."""
    parsed = read_proposals(queries)
    if not parsed:
        raise QueryError("INVALID_OPTION", "there is no path query", hint="ost.paths('a / ^b', start=...).run(graph)")
    return parsed


def read_proposals(queries: Any) -> tuple[PathQuery, ...]:
    """The same, but the list may be empty."""
    if isinstance(queries, str | PathQuery):
        queries = [queries]
    if isinstance(queries, Mapping):
        parsed = [_query(value, str(name)) for name, value in queries.items()]
    elif isinstance(queries, Iterable):
        parsed = [_query(value, "") for value in queries]
    else:
        raise QueryError("NOT_A_QUERY", f"expected path queries, got {queries.__class__.__name__}")
    return tuple(parsed)


def _query(value: Any, name: str) -> PathQuery:
    if isinstance(value, PathQuery):
        return replace(value, name=name) if name else value
    return path_query(value, name)


def node_names(option: str, nodes: Any) -> tuple[str, ...]:
    """The distinct nodes that an option names, one or several. Nodes are text; a whole number stands for its digits."""
    listed = nodes
    for method in ("to_pylist", "tolist"):  # Arrow; NumPy and pandas
        if hasattr(nodes, method):
            listed = getattr(nodes, method)()
            break
    several = isinstance(listed, Iterable) and not isinstance(listed, str | bytes | Mapping)
    names = list(listed) if several else [listed]
    for name in names:
        if not isinstance(name, str) and not _is_short_number(name):
            raise QueryError("INVALID_OPTION", f"{option} names nodes by text or whole numbers, not by {shown(name)}")
    return tuple(dict.fromkeys(str(name) for name in names))


def topic_name(topic: Any) -> str:
    """The node that a question is about."""
    names = node_names("topic", topic)
    if len(names) != 1:
        raise QueryError("INVALID_OPTION", f"topic names one node, not {shown(topic)}")
    return names[0]


def _is_short_number(value: Any) -> bool:
    """Whether it is a whole number that Python can print."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**100
