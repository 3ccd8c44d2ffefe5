"""The driver plans a query, and a worker packs rows, without numba: only tasks that match load compiled code."""

from __future__ import annotations

import base64
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import ostinato
from ostinato.spark.streams.stream_packing import PackByBucket, UnpackResults, pack_batch

PACKAGE = Path(ostinato.__file__).parent

PLANNING = """
import pyarrow as pa
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits, type_plan
from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.plan.event_plan import plan_events
from ostinato.event_queries.plan.event_types import type_events
from ostinato.expressions.types import Settings

types = {"k": pa.string(), "id": pa.int64(), "v": pa.int64()}
clause = parse_clause("PARTITION BY k ORDER BY id MEASURES LAST(v) AS v PATTERN (A B+) DEFINE B AS v < A.v + sum(B.v)")
plan = make_plan(bind(clause, list(types)))
assert plan.run_conditions
type_plan(plan, lambda expr: types[expr.name], types.__getitem__, Settings(), Limits())

text = "TYPE k TIME id PATTERN SEQ(a a, b+ b) WHERE a.v > 1 WITHIN 5 EVENTS RETURN COUNT(*)"
type_events(plan_events([bind_event_query(parse_event_query(text), list(types))]), types.__getitem__, Settings())
"""


def run_apart(program: str) -> str:
    """The output of the program in a new Python process."""
    finished = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def driver_modules() -> list[str]:
    """All modules of `spark/` and `explanation/`."""
    files = [file for folder in ("spark", "explanation") for file in sorted((PACKAGE / folder).rglob("*.py"))]
    return [".".join(("ostinato", *file.relative_to(PACKAGE).with_suffix("").parts)) for file in files]


def test_planning_on_spark_loads_no_numba() -> None:
    modules = driver_modules()
    assert "ostinato.spark.clause.spark_plan" in modules
    imports = f"""
import importlib, sys
for module in {modules}:
    importlib.import_module(module)
    assert "numba" not in sys.modules, f"{{module}} loads numba"
"""
    print_loaded = '\nprint("numba" in sys.modules)'
    assert run_apart(imports + PLANNING + print_loaded).strip() == "False"


def test_a_worker_that_packs_rows_loads_no_numba() -> None:
    pack = PackByBucket(pa.schema({"id": pa.int64(), "bits": pa.int64()}), ("bits",))
    pickled = base64.b64encode(pickle.dumps(pack)).decode()
    printed = run_apart(f"""
import base64, pickle, sys
import pyarrow as pa
pack = pickle.loads(base64.b64decode("{pickled}"))
rows = pa.record_batch({{"bucket": pa.array([1, 0, 1], pa.int32()), "id": [7, 8, 9], "bits": [1, 1, 0]}})
print([batch.column(0).to_pylist() for batch in pack(iter([rows]))], "numba" in sys.modules, "pyspark" in sys.modules)
""")
    assert printed.strip() == "[[0, 1]] False False"


def test_a_worker_that_unpacks_results_loads_no_numba() -> None:
    schema = pa.schema({"id": pa.int64()})
    rows = pa.record_batch({"packs": pa.array([pack_batch(pa.record_batch({"id": [7, 8]}, schema)), None])})
    pickled = base64.b64encode(pickle.dumps((UnpackResults(schema), rows))).decode()
    printed = run_apart(f"""
import base64, pickle, sys
unpack, rows = pickle.loads(base64.b64decode("{pickled}"))
print([batch.to_pydict() for batch in unpack(iter([rows]))], "numba" in sys.modules, "pyspark" in sys.modules)
""")
    assert printed.strip() == "[{'id': [7, 8]}] False False"


def test_the_check_can_fail() -> None:
    assert run_apart("import sys, ostinato.rows.ordering; print('numba' in sys.modules)").strip() == "True"
