"""`ost.console`: the live page from a notebook or a program, served by a thread of this process."""

from __future__ import annotations

import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.api.query import ColumnNames
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_path, column_names, shown, whole_number
from ostinato.calls.shown_objects import escape
from ostinato.errors import QueryError
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.sources.page_settings import Sources

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from ostinato.live_console.server.console_server import Console

_MOST_PORTS = 65_535
AnyPath = str | os.PathLike[str]


class LiveConsole:
    """A console that is being served. Notebooks show it as a link."""

    def __init__(self, console: Console, folder: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._console = console
        self._folder = folder
        self._thread = threading.Thread(target=console.run, name="ostinato-console", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address to open in a browser on this machine. It holds the token that saving needs."""
        return self._console.address

    def stop(self) -> None:
        """Ends the console. The stream isn't touched."""
        self._console.stop()
        self._thread.join(timeout=10)
        if self._folder is not None:
            self._folder.cleanup()

    def __repr__(self) -> str:
        return f"LiveConsole({self.address.partition('#')[0]})"

    def _repr_html_(self) -> str:
        words = f"Ostinato console at {escape(self.address.partition('#')[0])}"
        return f'<a href="{escape(self.address)}" target="_blank" rel="noopener noreferrer">{words}</a>'


@only_our_errors()
def console(
    query: StreamingQuery | None = None,
    *,
    log: AnyPath | None = None,
    matches: AnyPath | None = None,
    metrics: AnyPath | None = None,
    states: AnyPath | None = None,
    input: AnyPath | None = None,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    port: int = 0,
) -> LiveConsole:
    """Serves the live page of a running stream on this machine, until `stop()` or the end of the process.

    `query` is a running streaming query: the page shows its metrics, and the matches in its sink if that is a folder of
    this machine. Without a query, the other sources are those of `ostinato console`: `log` (the change log of the
    rules, the only folder that the page writes to), `matches` (the sink), `metrics` (the file of `ost.stream_metrics`),
    `states` (rows of `ost.stream_state` as JSON lines) and `input` (rows to test rules on). They also complete a query.
    `keys` and `time` are those of `ost.rules`, if they can't be told from sink and input. Port 0 takes a free one.

    >>> import tempfile
    >>> page = console(log=tempfile.mkdtemp())
    >>> page.address  # doctest: +ELLIPSIS
    'http://127.0.0.1:.../#token=...'
    >>> page.stop()
    """
    from ostinato.live_console.server.console_server import open_console

    whole_number("port", port, least=0, most=_MOST_PORTS)
    sources = Sources(
        _path("log", log),
        _path("matches", matches),
        _path("metrics", metrics),
        _path("states", states),
        _path("input", input),
    )
    terms = RuleTerms(None if keys is None else column_names("keys", keys), column_names("time", time))
    if query is None:
        if (sources.log, sources.matches, sources.metrics) == (None, None, None):
            hint = "ost.console(query), or a folder: log=, matches=, metrics="
            raise QueryError("CONSOLE_NEEDS_SOURCES", "the console has nothing to show", hint=hint)
        return LiveConsole(open_console(sources, terms, port=port))
    if not hasattr(query, "lastProgress"):
        raise QueryError("INVALID_OPTION", f"query is a running streaming query, not {shown(query)}")
    if sources.metrics is not None:
        raise QueryError("INVALID_OPTION", "the query has metrics of its own", hint="leave metrics= out")
    return _of_query(query, sources, terms, port)


def _of_query(query: StreamingQuery, sources: Sources, terms: RuleTerms, port: int) -> LiveConsole:
    from ostinato.live_console.followed_query import FollowedQuery
    from ostinato.live_console.server.console_server import open_console

    folder = tempfile.TemporaryDirectory(prefix="ostinato-console-", ignore_cleanup_errors=True)
    metrics = Path(folder.name) / "stream.prom"
    sources = replace(sources, metrics=metrics)
    followed = FollowedQuery(query, sources, metrics)
    return LiveConsole(open_console(sources, terms, port=port, each_round=followed.look), folder)


def _path(name: str, value: AnyPath | None) -> Path | None:
    return None if value is None else Path(a_path(name, value))
