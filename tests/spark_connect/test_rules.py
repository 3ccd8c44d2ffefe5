"""Rules on Spark Connect: changes from a folder, rows, states, times of rules, last rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.spark.streams.spark_streams import Source, letters

import ostinato as ost
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from ostinato.spark.streams.stream_metrics import observed_rule_seconds

AB = "MEASURES LAST(ts) AS at PATTERN (A B) DEFINE A AS x = 'a', B AS x = 'b'"


def test_rules_of_a_folder(connect: Any, tmp_path: Path) -> None:
    before = connect.conf.get(STATE_STORE)
    connect.conf.set(STATE_STORE, ROCKSDB)
    try:
        source = Source(tmp_path, connect).add(letters("k1", "ab", 0), letters("k1", "xa", 30))
        ost.write_rule(tmp_path / "rules", "pairs", AB)
        ost.write_rule(tmp_path / "rules", "broken", "PATTERN (A")
        found = ost.rules(source.read(), tmp_path / "rules", keys="k", time="ts", buckets=2)
        result = source.run(found).to_pylist()
        assert sorted((row["kind"], row["rule"]) for row in result) == [
            ("match", "pairs"),
            ("rule_changed", "pairs"),
            ("rule_rejected", "broken"),
        ]
        observed = [row for batch in source.progress for row in batch.observedMetrics.values()]
        assert set().union(*map(observed_rule_seconds, observed)) == {"pairs"}
        states = ost.stream_state(connect, source.checkpoint).collect()
        assert [(row["rule"], row["status"]) for row in states] == [("pairs", "active")]
        assert source.finish().num_rows == 0
    finally:
        connect.conf.set(STATE_STORE, before)
