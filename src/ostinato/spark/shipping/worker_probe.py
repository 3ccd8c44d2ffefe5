"""A small job that asks the workers what they have: for `ostinato doctor`."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.spark.shipping.worker_check import Checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASKS = 4


def ask_workers(spark: SparkSession) -> list[dict[str, Any]]:
    """A few tasks describe their workers. Raises an error if a worker lacks this package."""
    tasks = spark.range(_TASKS).repartition(_TASKS).mapInArrow(Checked(_describe), "found string")
    return [json.loads(row["found"]) for row in tasks.toArrow().to_pylist()]


def _describe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import socket
    import sys

    import numba

    from ostinato.kernels.package_kernels import package_kernels
    from ostinato.kernels.signatures import stored

    deque(batches, maxlen=0)  # a task has to read its rows
    found = {
        "host": socket.gethostname(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "numba": numba.__version__,
        "stored": stored(),
        "problem": package_kernels().problem,
    }
    yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})
