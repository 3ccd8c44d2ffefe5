"""The sources of a console -> its model, again and again, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ostinato.live_console.model.live_model import LiveModel
from ostinato.live_console.sources.change_log_reader import ChangeLogReader
from ostinato.live_console.sources.match_reader import MatchReader
from ostinato.live_console.sources.metrics_reader import MetricsReader
from ostinato.live_console.sources.open_states_reader import OpenStatesReader
from ostinato.live_console.sources.page_settings import Sources
from ostinato.live_console.sources.problems import Problem

LOOK_EVERY_SECONDS = 0.5
_PAUSE_FACTOR = 4
"""A look at very many files is followed by a pause of so many times its length."""


@dataclass(slots=True)
class _Readers:
    """A reader for each source that is given."""

    log: ChangeLogReader | None
    matches: MatchReader | None
    metrics: MetricsReader | None
    states: OpenStatesReader | None

    @staticmethod
    def of(sources: Sources, most_rows: int) -> _Readers:
        return _Readers(
            None if sources.log is None else ChangeLogReader(sources.log),
            None if sources.matches is None else MatchReader(sources.matches, most_rows),
            None if sources.metrics is None else MetricsReader(sources.metrics),
            None if sources.states is None else OpenStatesReader(sources.states),
        )


class SourcePoller:
    """Looks at all sources. `look` is one round; `start` repeats it until `stop`."""

    def __init__(self, model: LiveModel, *, each_round: Callable[[], Sources | None] = lambda: None) -> None:
        """`each_round` may return other sources to follow from now on."""
        self.model = model
        self._each_round = each_round
        self._readers = _Readers.of(model.sources, model.most_rows)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """One round over all sources."""
        other = self._each_round()
        if other is not None:
            self.model.restart(other)
            self._readers = _Readers.of(other, self.model.most_rows)
        readers, model = self._readers, self.model
        problems: list[Problem] = []
        if readers.log is not None:
            changes = readers.log.look()
            model.take_changes(changes.changes)
            problems += changes.problems
        if readers.matches is not None:
            rows = readers.matches.look()
            model.take_rows(rows)
            problems += rows.problems
        if readers.metrics is not None:
            numbers = readers.metrics.look()
            if numbers.numbers is not None:
                model.take_numbers(numbers.numbers)
            problems += numbers.problems
        if readers.states is not None:
            states = readers.states.look()
            if states.rules is not None:
                model.take_states(dict(states.rules))
            problems += states.problems
        model.take_problems(problems)
        model.pass_time()

    def start(self) -> None:
        """Starts the thread. It ends with the process, or after `stop`."""
        self._thread = threading.Thread(target=self._run, name="ostinato-console-poller", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def run_once(self) -> None:
        """A round whose defects become a problem of the page: it must not stop silently."""
        try:
            self.look()
        except Exception as error:
            self.model.take_problems([Problem("console", "INTERNAL_ERROR", f"{type(error).__name__}: {error}")])

    def _run(self) -> None:
        while not self._stopped.is_set():
            began = time.monotonic()
            self.run_once()
            took = time.monotonic() - began
            self._stopped.wait(max(LOOK_EVERY_SECONDS, _PAUSE_FACTOR * took))
