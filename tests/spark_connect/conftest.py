"""A Spark Connect session against a server that pyspark starts on this machine. Never together with tests/spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


@pytest.fixture(scope="session")
def connect() -> Iterator[SparkSession]:
    """One Connect session for the whole process."""
    from pyspark.sql import SparkSession

    from ostinato.spark.session.session import prepare_machine

    prepare_machine()
    builder = SparkSession.builder.remote("local[2]")
    # Only settings that can change at run time: a Connect client can't set the server's own.
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.sql.session.timeZone", "UTC")
    session = builder.getOrCreate()
    yield session
    session.stop()
