"""The installed package as a zip: complete, importable, the same bytes each time, no traces of this machine."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ostinato
from ostinato.errors import QueryError
from ostinato.spark.shipping.package_archive import write_archive

FOLDER = Path(ostinato.__file__).parent


def test_every_file_of_the_package_is_inside_except_byte_code(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "ostinato.zip")
    files = {file.relative_to(FOLDER.parent).as_posix() for file in FOLDER.rglob("*") if file.is_file()}
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) == {name for name in files if "__pycache__" not in name}
        assert {"ostinato/py.typed", "ostinato/spark/session/log4j2.properties"} <= set(archive.namelist())
        assert archive.read("ostinato/errors.py") == (FOLDER / "errors.py").read_bytes()
        assert not any(str(FOLDER.parent).encode() in archive.read(name) for name in archive.namelist())


def test_an_archive_written_from_the_archive_is_the_same(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "ostinato.zip")
    copy = tmp_path / "copy.zip"
    program = f"""
from pathlib import Path
from ostinato.spark.shipping import package_archive
assert {str(path)!r} in package_archive.__file__
package_archive.write_archive(Path({str(copy)!r}))
"""
    # -I leaves out PYTHONPATH, so that only the zip has the package.
    isolated = f"import sys; sys.path.insert(0, {str(path)!r}); exec({program!r})"
    subprocess.run([sys.executable, "-I", "-c", isolated], check=True)
    assert copy.read_bytes() == path.read_bytes()


def test_an_existing_archive_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "ostinato.zip").write_text("old")
    assert write_archive(tmp_path / "ostinato.zip") == tmp_path / "ostinato.zip"
    assert zipfile.is_zipfile(tmp_path / "ostinato.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["ostinato.zip"]


def test_other_endings_are_refused_because_spark_would_ignore_the_file(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"INVALID_OPTION: the archive can't be 'ostinato\.whl'"):
        write_archive(tmp_path / "ostinato.whl")
