"""The loop of `match_kernel.py`, compiled with functions that check run conditions."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.workloads.matcher import match_kernel
from ostinato.workloads.matcher.births import class_by_features, class_of_plain
from ostinato.workloads.matcher.outcomes import apply_guards_of, classify_made, complete_matches
from ostinato.workloads.matcher.visits import checks_hold, no_checks, step_checks_hold


class ConditionKernels(NamedTuple):
    """The functions of the loop that depend on whether the plan has run conditions."""

    step_holds: Callable[..., Any]
    guard_holds: Callable[..., Any]
    end_holds: Callable[..., Any]
    class_of_new: Callable[..., Any]


NO_CONDITIONS = ConditionKernels(no_checks, no_checks, no_checks, class_of_plain)
RUN_CONDITIONS = ConditionKernels(step_checks_hold, checks_hold, checks_hold, class_by_features)


def build_matcher(
    name: str,
    conditions: ConditionKernels,
    compiled: Callable[[Any], Any] = inline_kernel,
    **replaced: Callable[..., Any],
) -> Any:
    """The loop with these functions compiled into it; stored on disk under a name that must be unique.

    `replaced`: other functions for global names of `match_kernel.py` and `outcomes.py`.
    """
    classify_new = compiled(with_globals(classify_made, class_of_new=conditions.class_of_new))
    complete = compiled(with_globals(complete_matches, **{**replaced, "end_holds": conditions.end_holds}))
    apply_guards = compiled(with_globals(apply_guards_of, guard_holds=conditions.guard_holds))
    walk = compiled(
        with_globals(
            match_kernel.walk_step,
            **{
                **replaced,
                "step_holds": conditions.step_holds,
                "apply_guards": apply_guards,
                "classify_new": classify_new,
                "complete": complete,
            },
        )
    )
    advance = with_globals(match_kernel.advance_rows, **{**replaced, "walk": walk})
    advance.__name__ = advance.__qualname__ = name
    return borrowing_kernel(advance) if compiled is inline_kernel else advance


def with_globals(function: Callable[..., Any], **values: Any) -> FunctionType:
    """The function with other values for these global names."""
    # A closure would be the plain way, but numba doesn't find closures over kernels in its cache again.
    return FunctionType(function.__code__, {**function.__globals__, **values}, function.__name__)


advance_checked = build_matcher("advance_checked", RUN_CONDITIONS)
