"""The number of random examples that a law draws: few in a test run, four times as many under `make explore`."""

from __future__ import annotations

import os

EXPLORING = os.environ.get("HYPOTHESIS_PROFILE") == "explore"


def examples(in_a_test_run: int) -> int:
    """For `@settings(max_examples=examples(200))`."""
    return in_a_test_run * (4 if EXPLORING else 1)
