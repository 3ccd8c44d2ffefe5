"""The package works from inside a zip, as `addPyFile` ships it: nothing expects its files in a folder."""

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import ostinato

PROGRAM = """
    import pyarrow as pa

    import ostinato as ost
    from ostinato.report.page import Setting, report_page
    from ostinato.report.stories import STORIES

    assert ".zip" in ost.__file__
    rides = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "speed": [9, 8, 7]})
    falling = '''
        ORDER BY ts MEASURES count(DOWN.ts) AS steps PATTERN (START DOWN+)
        DEFINE DOWN AS speed < PREV(speed)'''
    trips = ost.events("PATTERN SEQ(A, B+) RETURN COUNT(*) AS trips", type="kind", time="ts")
    assert ost.match(falling, rides).to_pylist() == [{"steps": 2}]
    assert [int(row["trips"]) for row in ost.match(trips, rides).to_pylist()] == [3]
    assert "DOWN" in str(ost.explain(falling, rides)) and "SEQ(A, B+)" in str(ost.explain(trips, rides))
    assert all("MATCH_RECOGNIZE" in story.sql for story in STORIES)
    assert "<style>" in report_page([], {}, Setting("", []))
"""
SPARK_PROGRAM = """
    from ostinato.spark.session.session import local_settings

    options = local_settings(1)["spark.driver.extraJavaOptions"]
    assert "rootLogger" in open(options.partition("file://")[2]).read(), options
"""


def run_from_zip(tmp_path: Path, program: str) -> None:
    """Only the zip and installed packages are on the path. Kernels stay Python: compiling them takes long."""
    folder = Path(ostinato.__file__).parent
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, Path("ostinato") / file.relative_to(folder))
    environment = {"PYTHONPATH": str(tmp_path / "package.zip"), "HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_matches_event_queries_and_reports(tmp_path: Path) -> None:
    run_from_zip(tmp_path, PROGRAM)


def test_settings_of_spark_are_a_file_on_disk(tmp_path: Path) -> None:
    run_from_zip(tmp_path, SPARK_PROGRAM)
