"""One of two executors is killed inside a micro-batch, while a rule changes: the rows of a batch, and of an
undisturbed stream."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter
from tests.spark.cluster.standalone_cluster import StandaloneCluster
from tests.spark.rules.test_rules_restart import changing, fill
from tests.spark.streams.spark_streams import Source, pieces, rows, trades
from tests.spark.streams.stream_processes import MOST_SECONDS, Start, batches, in_a_process, wait_until
from tests.spark.streams.test_kills import found_skipping, judged_skipping, output, skipping

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
__all__ = ["in_a_process"]

DRIVER = """
import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.short_lived_jvms import SHORT_LIVED
from tests.spark.cluster.test_killed_executor import STREAMS
from tests.spark.streams.kill_campaign import begin
from tests.spark.streams.spark_streams import Source

folder, master = sys.argv[1:]
settings = {
    "spark.master": master,
    "spark.executor.cores": 1,
    "spark.executor.memory": "512m",
    "spark.cores.max": 2,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    STATE_STORE: ROCKSDB,
}
session = local_session(**settings)
queries = [begin(describe, Source(Path(folder) / name, session)) for name, describe in STREAMS.items()]
for query in queries:
    query.awaitTermination()
"""


def rules(source: Source) -> DataStreamWriter:
    return changing(source).writeStream.format("parquet").option("path", source.output)


STREAMS = {"skipping": skipping, "rules": rules}
"""A clause that skips rows and forgets keys, and rules that change."""


def executors(cluster: StandaloneCluster) -> set[int]:
    """The process numbers of the cluster's executors."""
    daemons = (psutil.Process(group.process.pid) for group in cluster.groups)
    return {child.pid for daemon in daemons for child in daemon.children(recursive=True) if _is_executor(child)}


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # it may have ended since it was listed
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    return False


def test_killed_executor(
    cluster: StandaloneCluster, streaming: SparkSession, in_a_process: Start, tmp_path: Path
) -> None:
    sources = {}
    for name in (*STREAMS, "undisturbed"):
        (tmp_path / name).mkdir()
        sources[name] = Source(tmp_path / name, streaming)
    of_skipping, of_rules, undisturbed = sources.values()
    of_skipping.add(*pieces(trades(), 100, 200, 300, 400, 500))
    for source in (of_rules, undisturbed):
        fill(source)

    driver = in_a_process("-c", DRIVER, str(tmp_path), cluster.url)
    wait_until(lambda: {1} <= batches(of_rules, "commits") and len(executors(cluster)) == 2, driver)
    wait_until(lambda: batches(of_rules, "offsets") > batches(of_rules, "commits"), driver)
    os.kill(min(executors(cluster)), signal.SIGKILL)
    assert driver.wait(2 * MOST_SECONDS) == 0
    logs = "".join(group.log.read_text(errors="replace") for group in cluster.groups)
    assert "finished with state KILLED" in logs or "exitStatus 137" in logs

    assert found_skipping(output(of_skipping), of_skipping.finish()) == judged_skipping(trades())
    of_the_killed = output(of_rules)
    assert rows(of_the_killed) == rows(undisturbed.run(changing(undisturbed)))
    assert rows(of_rules.finish()) == rows(undisturbed.finish())
