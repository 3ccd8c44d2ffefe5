"""Killed in a batch that carries a change of a rule, and started again: the rows of a stream that nobody killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, pieces, rows, trades
from tests.spark.streams.stream_processes import Start, batches, in_a_process, wait_until

import ostinato as ost
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions

pytestmark = pytest.mark.slow
__all__ = ["in_a_process"]

DIP = """MEASURES FIRST(id) AS f, LAST(id) AS l, MATCH_NUMBER() AS number PATTERN (TOP FALL+ RISE+)
    WITHIN INTERVAL '40' SECOND DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
LOW = "MEASURES FIRST(id) AS f, COUNT(*) AS n PATTERN (A B+) DEFINE A AS price > 3, B AS price < A.price"
CHANGES = [
    [RuleChange("a", 1, DIP), RuleChange("broken", 1, "PATTERN (A")],
    [RuleChange("a", 2, LOW), RuleChange("b", 1, DIP, options=RuleOptions(start="kept"))],
    [RuleChange("c", 1, LOW), RuleChange("b", 2, DIP, options=RuleOptions(start="new"))],
    [RuleChange("a", 3, enabled=False, options=RuleOptions(at_end="finish")), RuleChange("c", 2, DIP)],
    [RuleChange("b", 3, LOW), RuleChange("c", 3, enabled=False, options=RuleOptions(reason="slow"))],
    [RuleChange("c", 4, DIP), RuleChange("a", 4, LOW)],
]
"""In each batch, changes arrive together with rows."""
VICTIM = """
import sys
from pathlib import Path

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.rules.test_rules_restart import changing
from tests.spark.streams.spark_streams import Source

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
source = Source(Path(sys.argv[1]), local_session(cores=2, **settings))
source.run(changing(source))
"""


def fill(source: Source) -> None:
    """One file of rows and one file of changes for each batch."""
    source.add(*pieces(trades(), 100, 200, 300, 400, 500))
    add_changes(source)


def add_changes(source: Source) -> None:
    folder = source.folder / "rules"
    folder.mkdir()
    for number, changes in enumerate(CHANGES):
        file = folder / f"{number}.json"
        file.write_text("".join(change.to_json() + "\n" for change in changes))
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def changing(source: Source, **options: Any) -> DataFrame:
    schema = "id string, version long, text string, enabled boolean, options string"
    log = source.session.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(source.folder / "rules"))
    return ost.rules(source.read(), log, keys="symbol", time=["ts", "id"], buckets=4, **options)


@pytest.mark.timeout(600)  # two processes with kernels of their own
def test_killed_in_a_batch_with_a_change_of_a_rule(source: Source, in_a_process: Start, tmp_path: Path) -> None:
    fill(source)
    victim = in_a_process("-c", VICTIM, str(source.folder))
    wait_until(lambda: 3 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 3 not in batches(source, "commits")
    result = source.run(changing(source))
    assert min(batch.batchId for batch in source.progress) == 3  # the stream resumed

    (tmp_path / "undisturbed").mkdir()
    other = Source(tmp_path / "undisturbed", source.session)
    fill(other)
    assert rows(result) == rows(other.run(changing(other)))
    assert rows(source.finish()) == rows(other.finish())
    kinds = set(result.column("kind").to_pylist())
    assert kinds == {"match", "rule_changed", "rule_rejected", "rule_suspended"}
