"""Unpickling the tasks of a plan loads no module of the driver, whatever the kind of query."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.spark.test_without_numba import PLANS
from tests.spark_without_jvm.test_worker_imports import WORKERS

SEND = f"""{PLANS}
import pickle
from pyspark import cloudpickle
from pyspark.sql.group import GroupedData

sent = []


def recorded(kind, method):
    original = getattr(kind, method)

    def call(self, task, *arguments, **options):
        sent.append((name, cloudpickle.dumps(task)))
        return original(self, task, *arguments, **options)

    setattr(kind, method, call)


recorded(type(batch), "mapInArrow")
recorded(GroupedData, "transformWithState")
for name, plan in PLANS.items():
    plan()
with open(sys.argv[1], "wb") as file:
    pickle.dump(sent, file)
"""

UNPICKLE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    sent = pickle.load(file)
workers = set(sys.argv[2:])
for name, task in sent:
    kind = type(pickle.loads(task)).__name__
    ours = (module for module in sys.modules if module.startswith("ostinato.spark."))
    driver = [module for module in ours if not hasattr(sys.modules[module], "__path__") and module not in workers]
    assert not driver, f"{kind} of {name} loads {driver}"
    print(kind)
"""


def test_tasks_load_no_driver_module(tmp_path: Path) -> None:
    file = str(tmp_path / "tasks")
    run(SEND, file)
    kinds = set(run(UNPICKLE, file, *WORKERS).split())
    assert {"SparkTask", "SliceTask", "GroupsTask", "WholeKeysTask", "SummaryTask", "CorrelateKeys"} < kinds
    assert {"BucketProcessor", "SummaryProcessor", "PackByBucket", "UnpackResults"} < kinds


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    finished = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout
