"""The filter drops Java's start warnings and keeps all else, in order, also after the block has ended."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import os, subprocess, sys, threading
    from ostinato.spark.session.jvm_warnings import without_start_warnings

    CHILD = '''
    echo "WARNING: Using incubator modules: jdk.incubator.vector" >&2
    echo "WARNING: the disk is full" >&2
    read line
    echo "after $line" >&2
    '''
    with without_start_warnings():
        child = subprocess.Popen(["sh", "-c", CHILD], stdin=subprocess.PIPE)
        os.write(2, b"inside\\n")
    os.write(2, b"WARNING: Using incubator modules: jdk.incubator.vector (ours)\\n")
    child.communicate(b"the block\\n")
    for thread in threading.enumerate():
        if thread.name == "ostinato-jvm-stderr":
            thread.join(10)
"""


def test_only_known_warnings_of_processes_started_inside_are_dropped() -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert sorted(lines) == [
        "WARNING: Using incubator modules: jdk.incubator.vector (ours)",
        "WARNING: the disk is full",
        "after the block",
        "inside",
    ]
    assert lines.index("WARNING: the disk is full") < lines.index("after the block")
