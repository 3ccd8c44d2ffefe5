"""The slots of a correlation's checkpoint: a batch writes the states that change, and the others stay in theirs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ostinato.spark.correlations import correlation_checkpoint
from ostinato.spark.correlations.correlation_checkpoint import BatchValues, CorrelationCheckpoint, StoredBatch
from ostinato.spark.correlations.correlation_packs import KIND, LATEST, PACK, STATE, STEPPED
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.stream_packing import BUCKET


def store(
    checkpoint: CorrelationCheckpoint, batch: int, before: StoredBatch | None, states: dict[int, bytes]
) -> StoredBatch:
    """Stores a batch that writes these states, at time `batch`."""
    rows = [{BUCKET: bucket, KIND: STATE, PACK: pack, LATEST: batch} for bucket, pack in states.items()]
    schema = spark_schema(STEPPED)
    stepped = checkpoint.spark.createDataFrame([[row.get(name) for name in schema.names] for row in rows], schema)
    values = BatchValues(batch, batch, "{}")
    if before is not None:
        values = BatchValues(batch, batch, "{}", latest=before.latest, states=before.states)
    return checkpoint.store(stepped, 0 if before is None else before.next_slot, values)


def states_of(checkpoint: CorrelationCheckpoint, stored: StoredBatch) -> dict[int, bytes]:
    rows = checkpoint.states(stored).select(BUCKET, PACK).collect()
    states = {row[BUCKET]: bytes(row[PACK]) for row in rows}
    assert len(states) == len(rows)
    return states


def test_a_ring_of_slots(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few buckets change in a batch. Some batches run again, after a kill while they wrote to their slot."""
    monkeypatch.setattr(correlation_checkpoint, "SLOTS", 3)
    chance = random.Random(7)
    checkpoint = CorrelationCheckpoint(spark, str(tmp_path))
    assert checkpoint.last() is None
    states = dict.fromkeys(range(6), b"0")
    stored = store(checkpoint, 0, None, states)
    most_slots = 0
    for batch in range(1, 7):
        if batch % 3 == 0:
            store(checkpoint, batch, stored, {0: b"of the killed attempt"})
        before = checkpoint.last(before=batch)
        assert before is not None
        assert (before.batch, before.latest, before.states) == (stored.batch, stored.latest, stored.states)
        assert states_of(checkpoint, before) == states
        changed = {bucket: str(batch).encode() for bucket in chance.sample(range(6), chance.randint(0, 2))}
        states |= changed
        stored = store(checkpoint, batch, before, changed | {bucket: states[bucket] for bucket in before.copied_next})
        most_slots = max(most_slots, len(stored.states))
    assert states_of(checkpoint, stored) == states
    assert most_slots > 1
