"""Outside of spark/, pyspark is imported for types only. The layers' check ignores these imports in api/ and cli/."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "ostinato"
MODULES = [path for path in sorted(SOURCES.rglob("*.py")) if SOURCES / "spark" not in path.parents]


def run_time_imports(source: str) -> set[str]:
    """The top-level packages that the code imports, also inside functions, but not under TYPE_CHECKING."""
    packages: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            packages.update(alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.split(".")[0])
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(source))
    return packages


def test_imports_inside_functions_count_and_those_for_types_do_not() -> None:
    source = "if TYPE_CHECKING:\n    import numba\ndef f():\n    from pyspark.sql import DataFrame\n"
    assert run_time_imports(source) == {"pyspark"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_pyspark_is_imported_for_types_only(module: Path) -> None:
    assert "pyspark" not in run_time_imports(module.read_text(encoding="utf-8"))
