"""The sizes of the wheels."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.experiment import Scale, expect
from benchmarks.records import Goal, Record, Sense

CHECKOUT = Path(__file__).parents[2]
SIZE_GOAL = Goal(Sense.BELOW, 15.0)


def measure_wheels(scale: Scale) -> list[Record]:
    """Builds both wheels from the last commit. The builder refuses a wheel that names a folder of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "tools/build_wheels.py", folder], cwd=CHECKOUT, check=True, capture_output=True)
        wheels = sorted(Path(folder).glob("*.whl"))
        expect("wheels", len(wheels), 2)
        return [
            Record(
                "start", "wheel", wheel.name.partition("-")[2], "size", wheel.stat().st_size / 1e6, "MB", goal=SIZE_GOAL
            )
            for wheel in wheels
        ]
