"""`python -m benchmarks NAME`: check the answers, measure, print a table; perhaps write records and draw."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.colour_schemes import in_both_schemes
from benchmarks.experiment import Experiment, Scale, WrongAnswer
from benchmarks.records import Record, table, this_machine, write_json

EXPERIMENTS = {
    "bounded": "benchmarks.bounded.parts",
    "correlate": "benchmarks.correlate.parts",
    "match": "benchmarks.match.parts",
    "paths": "benchmarks.paths.parts",
    "rip": "benchmarks.rip.parts",
    "rules": "benchmarks.rules.parts",
    "start": "benchmarks.start.parts",
    "trends": "benchmarks.trends.parts",
    "streaming": "benchmarks.streaming.parts",
    "summary": "benchmarks.summary.parts",
    "windows": "benchmarks.windows.parts",
}
"""Where each benchmark lives: a module with EXPERIMENT. Loaded when asked for."""


def experiment(name: str) -> Experiment:
    found = import_module(EXPERIMENTS[name]).EXPERIMENT
    assert isinstance(found, Experiment)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """0: measured (goals may be missed, the table says which). 1: a wrong answer."""
    options = _options(arguments)
    chosen = experiment(options.name)
    machine = this_machine()
    started = time.perf_counter()
    print(f"{options.name} ({options.scale}): {machine}", flush=True)
    parts = [part for part in chosen.parts if options.only is None or part.figure in options.only]
    records: list[Record] = []
    for part in parts:
        print(f"{options.name}: {part.figure} ...", file=sys.stderr, flush=True)
        try:
            records += part.measure(Scale(options.scale))
        except WrongAnswer as wrong:
            print(f"{options.name}: WRONG ANSWER in {part.figure}: {wrong}", file=sys.stderr)
            return 1
        if options.json is not None:  # after each part, so that an interrupted run leaves what it has
            write_json(records, machine, options.json)
    print(table(records))
    print(_summary(records, time.perf_counter() - started))
    if options.plot is not None:
        for drawn in in_both_schemes(lambda folder: chosen.draw(records, folder), options.plot):
            print(f"drawn: {drawn.relative_to(options.plot)}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=sorted(EXPERIMENTS), metavar="NAME", help=", ".join(sorted(EXPERIMENTS)))
    parser.add_argument("--scale", choices=[scale.value for scale in Scale], default=Scale.SMALL.value)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there")
    parser.add_argument(
        "--plot", type=Path, metavar="DIR", help="draw the figures there, and for dark pages in DIR/dark"
    )
    parser.add_argument("--only", action="append", metavar="FIGURE", help="only this part (may be given several times)")
    options = parser.parse_args(arguments)
    figures = [part.figure for part in experiment(options.name).parts]
    for figure in options.only or ():
        if figure not in figures:
            parser.error(f"no figure {figure!r} in {options.name}: {', '.join(figures)}")
    return options


def _summary(records: Sequence[Record], seconds: float) -> str:
    asked = [record for record in records if record.met is not None]
    met = sum(record.met is True for record in asked)
    return f"goals met: {met} of {len(asked)}; {seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
