"""`local_session` starts Spark with our settings and workers that have our packages."""

from collections.abc import Iterator

import pyarrow as pa

from ostinato.spark.session.session import local_session


def test_map_in_arrow_runs(spark) -> None:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    rows = spark.range(10).mapInArrow(same, "id long").collect()
    assert sorted(row.id for row in rows) == list(range(10))


def test_settings_of_the_caller_win(spark) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert spark.conf.get("spark.ui.enabled") == "false"


def test_a_running_session_is_used_again(spark) -> None:
    assert local_session("another", cores=1) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
