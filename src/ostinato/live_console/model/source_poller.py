"""The sources of a console -> its model, again and again, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ostinato.live_console.model.live_model import LiveModel
from ostinato.live_console.sources.change_log_reader import ChangeLogReader
from ostinato.live_console.sources.match_reader import MatchReader
from ostinato.live_console.sources.metrics_reader import MetricsReader
from ostinato.live_console.sources.open_states_reader import OpenStatesReader
from ostinato.live_console.sources.page_settings import Sources
from ostinato.live_console.sources.problems import Problem, failed

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
    def of(sources: Sources, most_rows: int, keys: tuple[str, ...]) -> _Readers:
        return _Readers(
            None if sources.log is None else ChangeLogReader(sources.log),
            None if sources.matches is None else MatchReader(sources.matches, most_rows, keys=keys),
            None if sources.metrics is None else MetricsReader(sources.metrics),
            None if sources.states is None else OpenStatesReader(sources.states),
        )


class SourcePoller:
    """Looks at all sources. `look` is one round; `start` repeats it until `stop`."""

    def __init__(
        self,
        model: LiveModel,
        *,
        each_round: Callable[[], Sources | None] = lambda: None,
        keys: tuple[str, ...] = (),
    ) -> None:
        """`each_round` may return other sources to follow from now on. `keys` are those of the rules, as far as they
        were given: partition columns of the sink are keys only if they are among them."""
        self.model = model
        self._keys = keys
        self._each_round = each_round
        self._readers = _Readers.of(model.sources, model.most_rows, keys)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """One round over all sources. Each has a guard of its own: a defect of one doesn't stop the others."""
        problems: list[Problem] = []
        for source, look in (
            ("console", self._look_for_sources),
            ("rules", self._look_at_log),
            ("matches", self._look_at_matches),
            ("metrics", self._look_at_metrics),
            ("states", self._look_at_states),
        ):
            try:
                problems += look()
            except Exception as error:
                problems.append(failed(source, error))
        self.model.take_problems(problems)
        self.model.pass_time()

    def _look_for_sources(self) -> Sequence[Problem]:
        other = self._each_round()
        if other is not None:
            self.model.restart(other)
            self._readers = _Readers.of(other, self.model.most_rows, self._keys)
        return ()

    def _look_at_log(self) -> Sequence[Problem]:
        if self._readers.log is None:
            return ()
        news = self._readers.log.look()
        self.model.take_changes(news.changes)
        return news.problems

    def _look_at_matches(self) -> Sequence[Problem]:
        if self._readers.matches is None:
            return ()
        news = self._readers.matches.look()
        self.model.take_rows(news)
        return news.problems

    def _look_at_metrics(self) -> Sequence[Problem]:
        if self._readers.metrics is None:
            return ()
        news = self._readers.metrics.look()
        if news.numbers is not None:
            self.model.take_numbers(news.numbers)
        return news.problems

    def _look_at_states(self) -> Sequence[Problem]:
        if self._readers.states is None:
            return ()
        news = self._readers.states.look()
        if news.rules is not None:
            self.model.take_states(dict(news.rules))
        return news.problems

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
            self.model.take_problems([failed("console", error)])

    def _run(self) -> None:
        while not self._stopped.is_set():
            began = time.monotonic()
            self.run_once()
            took = time.monotonic() - began
            self._stopped.wait(max(LOOK_EVERY_SECONDS, _PAUSE_FACTOR * took))
