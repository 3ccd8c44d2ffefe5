"""The Spark session of the Spark parts, and the jobs that they compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES = 2


def spark_session() -> SparkSession:
    """Spark local[2]; the parts of one run share it."""
    from ostinato.spark.session.session import local_session

    return local_session("ostinato benchmarks", cores=CORES, **{"spark.sql.session.timeZone": "UTC"})


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What `mapInArrow` does when it does nothing."""
    yield from batches


def floor(events: DataFrame) -> DataFrame:
    """The least that any Python answer by key must do: read, bring keys together, go through Python."""
    return events.repartition("key").mapInArrow(same, events.schema)


def run(frame: DataFrame) -> None:
    """All rows, written nowhere."""
    frame.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True, slots=True)
class Totals:
    """What two answers must agree on: rows, and the sums of both measures in thousandths."""

    rows: int
    first_price: int
    last_price: int


def totals(frame: DataFrame) -> Totals:
    """Of an answer with first_price and last_price. Rounded per row, so that the order of adding doesn't matter."""
    from pyspark.sql import functions as F

    columns = [F.sum(F.round(F.col(name) * 1000).cast("long")) for name in ("first_price", "last_price")]
    row = frame.agg(F.count("*"), *columns).collect()[0]
    return Totals(row[0], row[1] or 0, row[2] or 0)


def totals_of_table(table: pa.Table) -> Totals:
    """The same of an answer in process."""
    import pyarrow.compute as pc

    # Spark rounds halves away from zero.
    sums = [
        pc.sum(pc.round(pc.multiply(table[name], 1000.0), round_mode="half_towards_infinity").cast(pa.int64())).as_py()
        for name in ("first_price", "last_price")
    ]
    return Totals(table.num_rows, sums[0] or 0, sums[1] or 0)
