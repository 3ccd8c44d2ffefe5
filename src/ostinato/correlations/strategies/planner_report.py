"""The planner's numbers -> text: the factors of the cost model, and the cost of each strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ostinato.correlations.strategies.cost_model import Factors, PlannerChoice


def run_text(
    choice: PlannerChoice,
    reason: str,
    factors: Factors | None,
    costs: Mapping[PlannerChoice, float] | None,
    declined: Mapping[str, str],
    memory: tuple[int, int],
) -> str:
    """The strategy that ran, and why. `memory`: most rows in the buffer, most entries in the cache."""
    title = "What ran"
    lines = [title, "-" * len(title), f"{choice.label}: {reason}"]
    lines.append(f"most rows in the recent buffer {memory[0]:,}, most entries in the result cache {memory[1]:,}")
    lines += [f"{name.replace('_', '-')} declined: {why}" for name, why in declined.items()]
    if factors is not None:
        lines += ["", "Factors, as measured", *(f"  {line}" for line in _factor_lines(factors))]
    if costs is not None:
        lines += ["", "Costs by the model", *(f"  {line}" for line in _cost_lines(costs, choice))]
    return "\n".join(lines)


def _factor_lines(factors: Factors) -> Iterator[str]:
    """The factors with the paper's letters. Costs are nanoseconds."""
    yield f"rows N {factors.rows:,.0f}"
    yield f"matches: live Ml {factors.live_matches:,.0f}, archive Ma {factors.archive_matches:,.0f}"
    yield f"results Mj {factors.results:,.0f}, {_ns(factors.join_cost)} each (cj)"
    yield f"a row in all: live cl {_ns(factors.live_cost)}, archive ca {_ns(factors.archive_cost)}"
    yield (
        f"a row in regions: live c'l {_ns(factors.live_cost_in_regions)}, "
        f"archive c'a {_ns(factors.archive_cost_in_regions)}"
    )
    yield (
        f"rows in the region of a live match Pl {factors.live_region:,.1f}, of an archive match "
        f"Pa {factors.archive_region:,.1f}"
    )
    yield (f"of these in no earlier region: dl {factors.live_region_step:,.1f}, da {factors.archive_region_step:,.1f}")


def _cost_lines(costs: Mapping[PlannerChoice, float], chosen: PlannerChoice) -> Iterator[str]:
    """The cost of each strategy, the cheapest first."""
    for choice, seconds in sorted(costs.items(), key=lambda item: item[1]):
        mark = "  <- chosen" if choice == chosen else ""
        yield f"{choice.label:<26} {seconds * 1000:12,.3f} ms{mark}"


def _ns(seconds: float) -> str:
    return f"{seconds * 1e9:,.1f} ns"
