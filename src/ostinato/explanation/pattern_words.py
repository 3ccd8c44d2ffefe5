"""Pattern variables -> the words for them in texts about attempts. A funnel speaks in its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ostinato.clause.attempts.attempt import LabelRun
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_clause import step_number

_MOST_RUNS = 9


class ClauseWords:
    """The words for the variables of a clause: the variables themselves."""

    tells_near_misses: ClassVar[bool] = True

    def variable(self, name: str) -> str:
        """The words in a sentence."""
        return name

    def box(self, name: str) -> str:
        """The words in a box of a picture."""
        return name

    def expected(self, names: Sequence[str]) -> str:
        """The variables that the pattern allows for a row; those nearest to a match come first."""
        return " or ".join(names)

    def path(self, labels: Sequence[LabelRun]) -> str:
        """The labels of consumed rows.

        >>> ClauseWords().path([LabelRun("A", 1), LabelRun("B", 3)])
        'A B{3}'
        """
        words = [run.variable if run.rows == 1 else f"{run.variable}{{{run.rows}}}" for run in labels]
        if len(words) > _MOST_RUNS:
            words = [*words[:4], "…", *words[-4:]]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class FunnelWords(ClauseWords):
    """The words for the variables of a funnel's clause: its steps."""

    funnel: Funnel
    tells_near_misses: ClassVar[bool] = False
    """Any event that isn't the next step would be one."""

    def variable(self, name: str) -> str:
        number = step_number(name)
        return "an event between the steps" if number is None else f"step {number} '{self._step(number)}'"

    def box(self, name: str) -> str:
        number = step_number(name)
        return "other" if number is None else self._step(number)

    def expected(self, names: Sequence[str]) -> str:
        """The next step. Other steps are those of attempts that reached less."""
        steps = [name for name in names if step_number(name) is not None]
        return self.variable(steps[0] if steps else names[0])

    def path(self, labels: Sequence[LabelRun]) -> str:
        """The steps that the attempt reached, and the number of other events."""
        steps = [number for run in labels if (number := step_number(run.variable)) is not None]
        others = sum(run.rows for run in labels if step_number(run.variable) is None)
        between = f" and {others:,} other {'event' if others == 1 else 'events'}" if others else ""
        names = " -> ".join(map(self._step, steps))
        return f"{names} (step {len(steps)} of {len(self.funnel.steps)}){between}"

    def _step(self, number: int) -> str:
        return self.funnel.steps[number - 1].name
