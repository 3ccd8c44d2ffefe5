"""A worker loads the modules of its tasks, and no module of the driver. `pyproject.toml` lists the workers' modules."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import ostinato

PACKAGE = Path(ostinato.__file__).parent
CONTRACTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
(CONTRACT,) = (contract for contract in CONTRACTS if contract["id"] == "workers")
WORKERS: list[str] = CONTRACT["source_modules"]
WITH_PYSPARK = {line.partition(" -> ")[0] for line in CONTRACT["ignore_imports"]}
"""Spark's StatefulProcessor is the base of two classes, and a slice reads its number from Spark's TaskContext."""

LOADED = """
import importlib, sys
for module in {modules}:
    importlib.import_module(module)
ours = (name for name in sys.modules if name.startswith("ostinato.spark."))
print("pyspark" in sys.modules, *(name for name in ours if not hasattr(sys.modules[name], "__path__")))
"""


def loaded(modules: list[str]) -> tuple[bool, set[str]]:
    """Whether a new process that imports the modules has loaded pyspark, and the modules of `spark/` in it."""
    program = LOADED.format(modules=modules)
    finished = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    has_pyspark, *ours = finished.stdout.split()
    return has_pyspark == "True", set(ours)


def test_tasks_load_no_driver_module() -> None:
    without = [module for module in WORKERS if module not in WITH_PYSPARK]
    assert loaded(without) == (False, set(without))
    assert loaded(WORKERS) == (True, set(WORKERS))


def test_every_task_lies_in_a_module_of_workers() -> None:
    tasks = {
        ".".join(("ostinato", *file.relative_to(PACKAGE).with_suffix("").parts))
        for file in (PACKAGE / "spark").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef) and is_task(node)
    }
    assert "ostinato.spark.clause.clause_task" in tasks and "ostinato.spark.streams.stream_processor" in tasks
    assert tasks <= set(WORKERS)


def is_task(node: ast.ClassDef) -> bool:
    """A function for mapInArrow, the task of a stream operator, or an operator with state."""
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    calls = (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__call__")
    results = {ast.unparse(call.returns) for call in calls if call.returns is not None}
    return bool(
        bases & {"BucketTask", "BucketProcessor", "StatefulProcessor"}
        or results & {"Batches", "Iterator[pa.RecordBatch]"}
    )
