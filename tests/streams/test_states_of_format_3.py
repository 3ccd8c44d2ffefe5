"""States that an earlier build wrote in format 3 are read, and give the answers that they gave.

The file has a state of every system: JSON, with the bytes compressed and in base 64. It is written once for a format,
by `python -m tests.streams.test_states_of_format_3`. A build that can't read it needs another number of the format.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from tests.streams.stored_states import SYSTEMS, stored

FILE = Path(__file__).parent / "states_of_format_3.json"
SHEDS = {"bounded workload", "bounded engine"}
"""Their answers depend on the time that the machine takes."""


def read_states() -> dict[str, list[bytes]]:
    states = json.loads(FILE.read_text(encoding="ascii"))
    return {name: [zlib.decompress(b64decode(text)) for text in texts] for name, texts in states.items()}


def write_states() -> None:
    states = {name: [blob.data for blob in stored(name).blobs] for name in SYSTEMS}
    texts = {name: [b64encode(zlib.compress(data, 9)).decode() for data in blobs] for name, blobs in states.items()}
    FILE.write_text(json.dumps(texts, indent=0) + "\n", encoding="ascii")


def test_the_file_has_a_state_of_every_system() -> None:
    assert set(read_states()) == set(SYSTEMS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_stored_state_is_read(system: str) -> None:
    state = stored(system)
    answer = state.resume(read_states()[system])
    assert system in SHEDS or answer == state.answer


if __name__ == "__main__":
    write_states()
