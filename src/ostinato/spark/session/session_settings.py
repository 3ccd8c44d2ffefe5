"""A Spark session -> the settings by which expressions are evaluated."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.options import shown
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings


def check_spark(spark: Any) -> None:
    """Raises INVALID_OPTION for anything but a session, classic or Connect."""
    if not hasattr(spark, "readStream"):
        raise QueryError("INVALID_OPTION", f"spark is a Spark session, not {shown(spark)}")


def session_settings(df: DataFrame) -> Settings:
    """The settings of the DataFrame's session that names and expressions depend on."""
    return settings_of(df.sparkSession)


def settings_of(spark: SparkSession) -> Settings:
    """The settings of a session that names and expressions depend on."""
    conf = spark.conf

    def is_on(name: str) -> bool:
        return (
            str(conf.get(name)).lower() == "true"
        )  # with a default argument, Spark would return that in place of its own default

    ansi = is_on("spark.sql.ansi.enabled")
    return Settings(
        ansi=ansi,
        timezone=str(conf.get("spark.sql.session.timeZone")),
        double_quoted_identifiers=ansi and is_on("spark.sql.ansi.doubleQuotedIdentifiers"),
        case_sensitive=is_on("spark.sql.caseSensitive"),
    )
