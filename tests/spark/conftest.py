"""A session that can keep the state of streams, and a folder of files as a stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.streams.spark_streams import Source

from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE


@pytest.fixture(scope="session")
def streaming(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set(STATE_STORE, ROCKSDB)
    return session


@pytest.fixture
def source(streaming: SparkSession, tmp_path: Path) -> Source:
    return Source(tmp_path, streaming)
