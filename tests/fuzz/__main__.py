"""`python -m tests.fuzz`: fuzzes all languages in turn for some minutes, and ends with 1 where something was found."""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time

from tests.fuzz.fuzzing import CPU_SECONDS, Failure, tried
from tests.fuzz.languages import LANGUAGES

_MOST_MEMORY = 12 << 30
"""Bytes of address space: a text that asks for more gets a MemoryError, not the machine's."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random texts of all six languages.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to go on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="where to begin; a failure names its own (default: 0)")
    parser.add_argument("--language", choices=[language.name for language in LANGUAGES], help="only this one")
    parser.add_argument("--cpu-seconds", type=float, default=CPU_SECONDS, help="limit for one text")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, resource.RLIM_INFINITY))
    chosen = [language for language in LANGUAGES if options.language in (None, language.name)]
    for language in chosen:
        tried(language, "warm-up", cpu_seconds=600)  # kernels are compiled once, outside the limits
    until, found, count = time.monotonic() + 60 * options.minutes, dict[str, Failure](), 0
    for number in itertools.count():
        if time.monotonic() > until:
            break
        for language in chosen:
            failure = tried(language, f"{options.seed}.{number}", options.cpu_seconds)
            count += 1
            if failure is not None and failure.error not in found:
                found[failure.error] = failure
                print(failure, flush=True)
    print(f"{count:,} texts, {len(found)} different failures", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
