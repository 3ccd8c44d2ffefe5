"""Peak memory of a worker on one large key, in a process of its own, beside the bytes of the columns it uses.

The worker runs in that process without Spark, so that neither Spark's own worker code nor a JVM is counted.
`python -m benchmarks.match.memory Q1 2000000` is the process.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from benchmarks.experiment import Scale, expect, in_fresh_process
from benchmarks.match.kernel_run import price_table
from benchmarks.queries import KNOWN_COUNTS, Mode, Q, prices
from benchmarks.records import Baseline, Record
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table

ROWS = {Scale.SMALL: 2_000_000, Scale.FULL: 20_000_000}
NAMES = ("Q1", "Q12")
WARM_UP_ROWS = 20_000


def measure_memory(scale: Scale) -> list[Record]:
    """Reported, without a goal: the issue names no figure, the baseline shows what it is bounded by."""
    rows = ROWS[scale]
    records = []
    for name in NAMES:
        found = json.loads(in_fresh_process("benchmarks.match.memory", name, str(rows)))
        expect(f"memory, {name}, {WARM_UP_ROWS:,} rows", found["warm_up_matches"], _known(name))
        case = f"{name}, one key of {rows:,} rows"
        columns = Baseline("columns used", found["column_bytes"])
        records += [
            Record("match", "memory", case, "peak above the idle process", found["peak"] - found["idle"], "B", columns),
            Record("match", "memory", case, "peak of the process", found["peak"], "B"),
        ]
    return records


def _known(name: str) -> int:
    return KNOWN_COUNTS[name, Mode.PREFERRED, WARM_UP_ROWS]


def peak_bytes() -> int:
    """The largest resident size of this process so far.

    Linux: the mark of this program. The one of getrusage is kept across exec, so it may be the parent's.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def run_alone(name: str, rows: int) -> dict[str, int]:
    """Load the kernels and note the size, then match all rows and note it again."""
    clause = parse_clause(Q[name].clause(Mode.PREFERRED))
    warm_up = match_table(clause, price_table(prices(WARM_UP_ROWS))).num_rows
    idle = peak_bytes()
    table = price_table(prices(rows))
    match_table(clause, table)
    return {"warm_up_matches": warm_up, "idle": idle, "peak": peak_bytes(), "column_bytes": table.nbytes}


if __name__ == "__main__":
    print(json.dumps(run_alone(sys.argv[1], int(sys.argv[2]))))
