"""Filters the stderr of a JVM that starts here: warnings that every start of Spark prints are left out.

Java prints them before it reads any setting: about the vector module that Spark asks for, and, from Java 24 on, about
access that Spark's libraries still need. Users can do nothing about them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STDERR = 2
_FILTERED = (
    b"WARNING: Using incubator modules: jdk.incubator.vector",
    b"WARNING: package sun.security.action not in java.base",
    b"WARNING: A restricted method in java.lang.",
    b"WARNING: A terminally deprecated method in sun.misc.Unsafe",
    b"WARNING: java.lang.System::load",
    b"WARNING: sun.misc.Unsafe::",
    b"WARNING: Please consider reporting this to the maintainers of ",
    b"WARNING: Use --enable-native-access=ALL-UNNAMED",
    b"WARNING: Restricted methods will be blocked in a future release",
    b"Starting Streaming TransformWithState",  # PySpark's own remarks, whenever a stream starts
    b"Streaming TransformWithState",
)


@contextmanager
def without_start_warnings() -> Iterator[None]:
    """The stderr of processes that start inside the block passes through the filter until they end."""
    try:
        real = os.dup(_STDERR)
    except OSError:  # there is no stderr
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, _STDERR)
    os.close(writing)
    threading.Thread(target=_pass_on, args=(reading, real), name="ostinato-jvm-stderr", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(real, _STDERR)


def _pass_on(reading: int, real: int) -> None:
    """Copy line by line until the last writer is gone; owns both descriptors."""
    # The caller's stderr may be closed before the JVM ends.
    with suppress(OSError), open(reading, "rb") as lines, open(real, "wb", buffering=0) as stderr:
        for line in lines:
            if not line.startswith(_FILTERED):
                stderr.write(line)
