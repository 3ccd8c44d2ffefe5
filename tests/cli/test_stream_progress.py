"""Several streams that run at once: a line for each, and a failure that stops no other one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("pyspark")

from ostinato.cli.stream_progress import follow


@dataclass
class Query:
    """A query that ends after some looks, perhaps with an error."""

    id: str
    looks: int
    error: Exception | None = None
    recentProgress: list[Any] = field(default_factory=list)
    waited: float = 0.0

    def awaitTermination(self, seconds: float) -> bool:
        self.looks -= 1
        self.waited += seconds
        if self.looks == 0 and self.error is not None:
            raise self.error
        return self.looks <= 0


def test_a_failure_is_told_at_once_and_the_others_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("no")
    queries = {"a": Query("1", 3), "b": Query("2", 1, error), "c": Query("3", 2)}
    told: list[tuple[str, Exception, int]] = []

    def tell(name: str, error: Exception) -> None:
        told.append((name, error, queries["a"].looks))

    assert follow(queries, tell) == {"b": error}  # type: ignore[arg-type]
    assert told == [("b", error, 2)]
    assert capsys.readouterr().err == "done: a: waiting for the first batch\ndone: c: waiting for the first batch\n"
    assert queries["a"].waited == pytest.approx(1 / 3 + 1 / 2 + 1)  # the running ones share a second


def test_one_query_has_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow({"": Query("1", 1)}) == {}  # type: ignore[dict-item]
    assert capsys.readouterr().err == "done: waiting for the first batch\n"
