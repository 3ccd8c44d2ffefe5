"""A running streaming query of this process -> sources of a console: a file of its metrics, its sink's folder."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ostinato.errors import QueryError
from ostinato.live_console.sources.page_settings import Sources

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_FILE_SINK = re.compile(r"FileSink\[(?P<address>.+)\]")
_OTHER_SINK = "the sink of the query isn't a folder of this machine; matches= names one"


class FollowedQuery:
    """Asks the query for its progress, which is no Spark job."""

    def __init__(self, query: StreamingQuery, sources: Sources, metrics: Path) -> None:
        """`metrics` is the file to write; the sink is looked up unless the sources name one."""
        from ostinato.spark.streams.stream_metrics import StreamMetrics

        self._query = query
        self._metrics = StreamMetrics(metrics)
        self._sources = sources
        self._last: object = None
        self._knows_sink = sources.matches is not None

    def look(self) -> Sources | None:
        """Writes the metrics of new micro-batches. Returns other sources once the sink is known.

        Raises SOURCE_NOT_READABLE for a query that doesn't answer, for example because its session is gone.
        """
        try:
            progress = self._query.lastProgress
            if progress is None or (progress.batchId, progress.timestamp) == self._last:
                return None
            self._metrics.catch_up(self._query)
        except Exception as error:
            message = f"the query doesn't tell its progress ({type(error).__name__})"
            hint = "the page goes on with the folders; is the query's session still running?"
            raise QueryError("SOURCE_NOT_READABLE", message, hint=hint) from None
        self._last = progress.batchId, progress.timestamp
        if self._knows_sink:
            return None
        self._knows_sink = True
        folder = sink_folder(progress.sink.description)
        if folder is None:
            return replace(self._sources, note=_OTHER_SINK)
        return replace(self._sources, matches=folder)


def sink_folder(description: str) -> Path | None:
    """The folder of a file sink, from Spark's description of it; None for other sinks and other file systems.

    >>> sink_folder("FileSink[file:/data/my%20matches]"), sink_folder("MemorySink"), sink_folder("FileSink[s3://b/m]")
    (PosixPath('/data/my matches'), None, None)
    """
    found = _FILE_SINK.fullmatch(description)
    if found is None:
        return None
    address = urlsplit(found["address"])
    return Path(unquote(address.path)) if address.scheme in ("", "file") else None
