"""A condition over any rows of the run -> its value, computed together with the trials that probably come next.

`array_contains(array_agg(A.id), B.id)` depends on all rows of the partial match, so no two trials read the same rows.
But a search mostly goes on as it did before: the match gets longer by one row of the same variable, a gap gets longer
or shorter by one row, or the next row starts. So one call of the evaluator answers for the trial and for those that
follow if the search takes the same step again. A wrong prediction costs time only: an answer counts for its own trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ostinato.clause.task.measure_slots import SlotReader
from ostinato.clause.task.trials import Step, Trial, after
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import PreparedExpression
from ostinato.expressions.syntax import Column, Expr
from ostinato.rows.matches import Frames, Matches

_MOST_TRIALS = 64
_MOST_ROWS = 1 << 15
"""Of all trials of one call together: each trial reads all rows of its partial match."""


class PredictedCondition:
    """One condition. `slots` are the values of the match that it reads, by the name of the column for each."""

    def __init__(
        self, ready: PreparedExpression, slots: Mapping[str, tuple[Expr, pa.DataType]], reader: SlotReader
    ) -> None:
        self.ready = ready
        self.slots = slots
        self.reader = reader
        self.answers: dict[tuple[int, int, int, bytes], bool] = {}
        self.used = 1
        """The trials that the last call answered."""
        self.step = Step.LONGER
        self.last: Trial | None = None

    def holds(self, trial: Trial) -> bool:
        """Whether the condition is TRUE. Raises its error for this trial only."""
        identity = trial.identity()
        if identity in self.answers:
            self.used += 1
        else:
            self._answer(trial)
        self.last = trial
        return self.answers[identity]

    def _answer(self, trial: Trial) -> None:
        self.step = self._step_to(trial)
        count = min(2 * self.used, _MOST_TRIALS, max(1, _MOST_ROWS // len(trial.labels)))
        later = (after(self.step, trial, times) for times in range(1, count))
        trials = [trial, *(each for each in later if each is not None)]
        self.answers, self.used = {}, 1
        try:
            values = self._values(trials)
        except (MatchError, pa.ArrowException):  # perhaps of a trial that never comes
            trials = [trial]
            values = self._values(trials)
        self.answers = {each.identity(): value for each, value in zip(trials, values, strict=True)}

    def _step_to(self, trial: Trial) -> Step:
        """The step from the last trial to this one; the step before that if there is no such step."""
        if self.last is None or abs(trial.row - self.last.row) != 1:
            return self.step
        identity = trial.identity()
        for step in Step:
            expected = after(step, self.last, 1)
            if expected is not None and expected.identity() == identity:
                return step
        return self.step

    def _values(self, trials: Sequence[Trial]) -> list[bool]:
        """The value for each trial, as if each were a match that ends with it."""
        length = np.array([len(trial.labels) for trial in trials])
        row = np.array([trial.row for trial in trials])
        matches = Matches(
            start=row + 1 - length,
            length=length,
            number=np.array([trial.number for trial in trials]),
            path_at=np.cumsum(length) - length,
            label=np.concatenate([trial.labels for trial in trials]),
            excluded=np.zeros(int(length.sum()), np.bool_),
            key_first=np.array([trial.key_first for trial in trials]),
            key_end=np.array([trial.key_end for trial in trials]),
        )
        frames = Frames(np.arange(len(trials)), length - 1, row)
        values: dict[str, pa.Array] = {}

        def leaf(node: Expr) -> pa.Array | None:
            if not isinstance(node, Column):
                return None
            if node.name not in values:
                values[node.name] = self.reader.array(*self.slots[node.name], matches, frames)
            return values[node.name]

        result: list[bool] = self.ready.mask(leaf, len(trials)).tolist()
        return result
