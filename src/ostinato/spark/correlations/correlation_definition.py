"""The definition of a correlation on a stream, stored as JSON beside its state. It suffices to plan it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as s

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import CorrelationText, correlation_of, find_correlations
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.types import Settings
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.streams.stored_definition import check_format
from ostinato.streams.stored_state import reading

FORMAT = 2


@dataclass(frozen=True, slots=True)
class CorrelationDefinition:
    """The query with everything that its result depends on. Plain values only."""

    query: str
    live_columns: str
    """The stream's columns as Spark's JSON."""
    archive_columns: str | None
    """The columns of the archive's table; None if the live rows are their own archive."""
    delay: int
    """In the clock's units: microseconds, or the numbers that order the rows."""
    buckets: int
    options: CorrelationOptions
    limits: Limits
    settings: Settings
    archive_path: str | None = None
    writes_archive: bool = False

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    def check_goes_on(self, before: CorrelationDefinition) -> None:
        """Raises if this definition can't continue the state of the one before. Workers compare the query itself."""
        values_before = before._state_values()
        for name, now in self._state_values().items():
            was = values_before[name]
            if was != now:
                raise MatchError(
                    "STATE_OF_OTHER_QUERY",
                    f"the stream was started with {name} = {was}, and now has {now}",
                    hint="start it as before, or with a new checkpoint",
                )
        if self.writes_archive and self.archive_path != before.archive_path:
            raise MatchError(
                "STATE_OF_OTHER_QUERY",
                f"the stream has written its archive to {before.archive_path}, not to {self.archive_path}",
                hint="move the folder back, or start with a new checkpoint",
            )

    def _state_values(self) -> dict[str, Any]:
        """The values that a state depends on."""
        return {
            "buckets": self.buckets,
            "write_archive": self.writes_archive,
            "columns of the archive": self.archive_columns,
            "has recent_rows": self.options.recent_rows is not None,
            "searches archive starts once": self.options.searches_once,
        }

    @property
    def copies_archive(self) -> bool:
        """Whether rows of an archive table are copied beside the state: with `recent_rows`, they may be read again."""
        return self.archive_columns is not None and self.options.recent_rows is not None

    @property
    def occurrence(self) -> CorrelationText:
        """The correlation's position in the text."""
        return the_correlation(self.query)

    def plan(self, spark: SparkSession) -> SparkCorrelation:
        """The plan over empty inputs with the same columns."""
        live = spark.createDataFrame([], _columns(self.live_columns))
        archive = live if self.archive_columns is None else spark.createDataFrame([], _columns(self.archive_columns))
        return SparkCorrelation(
            correlation_of(
                self.query, self.occurrence, double_quoted_identifiers=self.settings.double_quoted_identifiers
            ),
            live,
            archive,
            self.limits,
            self.settings,
        )


def the_correlation(text: str) -> CorrelationText:
    """The only correlation of a text. Raises CORRELATION_NOT_SUPPORTED if the text has others, or other clauses."""
    statement = read_statement(text)
    occurrences = find_correlations(statement)
    if len(occurrences) != 1 or len(statement.clauses) != 2:
        raise QueryError(
            "CORRELATION_NOT_SUPPORTED",
            f"expected one correlation of two MATCH_RECOGNIZE clauses, found {len(occurrences)} and"
            f" {len(statement.clauses)} clauses",
            text=text,
            hint="SELECT ... FROM t MATCH_RECOGNIZE ( ... ) AS live JOIN t MATCH_RECOGNIZE ( ... ) AS archive"
            " ON RECENT(archive, live, ...)",
        )
    return occurrences[0]


def _columns(text: str) -> s.StructType:
    return s.StructType.fromJson(json.loads(text))


def read_definition(text: str) -> CorrelationDefinition:
    """The stored definition. Raises STATE_FORMAT if it can't be read."""
    with reading("the definition of this correlation"):
        values = json.loads(text)
        check_format(values.pop("format", None), FORMAT)
        return CorrelationDefinition(
            **{
                **values,
                "options": CorrelationOptions(**values["options"]),
                "limits": Limits(**values["limits"]),
                "settings": Settings(**values["settings"]),
            }
        )
