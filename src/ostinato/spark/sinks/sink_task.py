"""The identity of the part of a job that one Python worker writes. Names of files and of requests derive from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SinkTask:
    """A replay after a restart has the same `job`, `epoch` and `partition`, and another `attempt`."""

    job: str
    """The id of the stream, which its checkpoint keeps; the id of the write in a batch."""
    epoch: int
    """The number of the micro-batch; 0 in a batch."""
    partition: int
    attempt: int
