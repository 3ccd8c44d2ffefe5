"""What all tests share: hypothesis profiles, markers of Spark tests, a Spark session that starts when asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.compiled_kernels import CACHE, unlisted_in, use_own_cache
from tests.examples import EXPLORING, examples
from tests.short_lived_jvms import use_short_lived_jvms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent
use_own_cache()
use_short_lived_jvms()

_slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ostinato",
    deadline=None,
    derandomize=not EXPLORING,
    max_examples=examples(60),
    suppress_health_check=_slow_is_fine,
)
settings.load_profile("ostinato")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    classic = [item for item in items if item.path.is_relative_to(TESTS / "spark")]
    connect = [item for item in items if item.path.is_relative_to(TESTS / "spark_connect")]
    for item in (*classic, *connect):
        item.add_marker(pytest.mark.spark)
    others_with_spark = [item for item in items if "spark" in getattr(item, "fixturenames", ())]
    if classic or others_with_spark:
        for item in connect:  # one process can't hold a classic and a Connect session
            item.add_marker(pytest.mark.skip(reason="needs a process of its own: pytest tests/spark_connect"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails if a query has called a kernel with argument types that the list of kernels lacks."""
    is_worker = hasattr(session.config, "workerinput")  # the controller of xdist checks for its workers
    if is_worker or os.environ["NUMBA_CACHE_DIR"] != str(CACHE):
        return
    unlisted = unlisted_in(CACHE)
    if unlisted:
        print("\nkernels with argument types that aren't listed (see tools/record_kernels.py):", *unlisted, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One classic local session for the whole process."""
    from ostinato.spark.session.session import local_session

    session = local_session(
        "ostinato tests",
        cores=2,
        **{"spark.sql.shuffle.partitions": 4, "spark.sql.session.timeZone": "UTC"},
    )
    yield session
    session.stop()
