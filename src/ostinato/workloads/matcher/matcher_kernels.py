"""The loop of `match_kernel.py` with the functions compiled into it that ask run conditions, or that know of none."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.workloads.matcher import match_kernel
from ostinato.workloads.matcher.births import class_by_features, class_of_plain
from ostinato.workloads.matcher.outcomes import classify_made, complete_matches, obey_guards_of
from ostinato.workloads.matcher.visits import checks_hold, nothing_asked, step_checks_hold


class Asked(NamedTuple):
    """The functions that ask run conditions, or those that know there are none."""

    step_holds: Callable[..., Any]
    guard_holds: Callable[..., Any]
    end_holds: Callable[..., Any]
    class_of_new: Callable[..., Any]


NOTHING_ASKED = Asked(nothing_asked, nothing_asked, nothing_asked, class_of_plain)
RUN_ASKED = Asked(step_checks_hold, checks_hold, checks_hold, class_by_features)


def build_matcher(name: str, asked: Asked, compiled: Callable[[Any], Any] = inline_kernel) -> Any:
    """The loop with these functions compiled into it; kept on disk under a name that must be unique."""
    classify_new = compiled(_with_globals(classify_made, class_of_new=asked.class_of_new))
    complete = compiled(_with_globals(complete_matches, end_holds=asked.end_holds))
    obey_guards = compiled(_with_globals(obey_guards_of, guard_holds=asked.guard_holds))
    walk = compiled(
        _with_globals(
            match_kernel.walk_step,
            step_holds=asked.step_holds,
            obey_guards=obey_guards,
            classify_new=classify_new,
            complete=complete,
        )
    )
    advance = _with_globals(match_kernel.advance_rows, walk=walk)
    advance.__name__ = advance.__qualname__ = name
    return borrowing_kernel(advance) if compiled is inline_kernel else advance


def _with_globals(function: Callable[..., Any], **values: Any) -> FunctionType:
    # A closure would be the plain way, but numba doesn't find closures over kernels in its cache again.
    return FunctionType(function.__code__, {**function.__globals__, **values}, function.__name__)


advance_plain = build_matcher("advance_plain", NOTHING_ASKED)
"""For plans without run conditions and features."""
advance_checked = build_matcher("advance_checked", RUN_ASKED)
