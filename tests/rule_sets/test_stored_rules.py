"""Buckets of rules as version 3 of the format stored them stay readable, of both layouts."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path

import pyarrow as pa
import pytest
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

from ostinato.rule_sets.rules_core import RulesCore
from ostinato.streams.bucket_state import BucketState

WRITTEN_AGAIN = Path(__file__).parent / "bucket_of_rules_v3.json"
"""By the version that wrote all rows again in each step."""
APPENDED = Path(__file__).parent / "bucket_of_rules_v3_appended.json"
"""By `python -m tests.rule_sets.test_stored_rules`, with version 3 of the format and never again: a version that can't
read it needs a new number, or a way to."""
both = pytest.mark.parametrize("file", [WRITTEN_AGAIN, APPENDED], ids=["written again", "appended"])
RUNS = "MEASURES A.x AS a, C.x AS c PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"
NUMBERED = """MEASURES MATCH_NUMBER() AS n PATTERN (A B) WITHIN INTERVAL '1' SECOND
    DEFINE A AS kind = 'A' AND PREV(kind) IS NULL OR x > 7, B AS kind = 'B'"""
TABLE = (rule("of-table", RUNS).to_json(),)


class TableStream(RuleStream):
    """With a static table of rules."""

    def core(self) -> RulesCore:
        return RulesCore(self.declared, "rules", self.late, TABLE)


def write() -> None:
    """A rule with an open partial match and a rejected version, one with PREV and MATCH_NUMBER(), one that is
    suspended, one that was removed, and one of a static table. Open rows of two keys; a row waits."""
    stream = TableStream()
    stream.step(
        pa.concat_tables([rows("ABAB"), rows("ABBBB", 3, "q")]),
        7,
        rule("runs", RUNS),
        rule("runs", "PATTERN (A", 2),
        rule("numbered", NUMBERED),
        rule("hungry", RUNS, max_state_bytes=150),
        rule("gone", RUNS),
    )
    stream.step(rows("C", 20), 8, rule("gone", "", 2, enabled=False))
    state = stream.state
    values = {
        "header": [state.header],
        "open_rows": [*state.open_rows],
        "waiting": state.waiting,
        "rules": [stream.rules],
    }
    texts = {name: [b64encode(each).decode() for each in segments] for name, segments in values.items()}
    APPENDED.write_text(json.dumps(texts, indent=0) + "\n", encoding="ascii")


def stored(file: Path) -> TableStream:
    values = json.loads(file.read_text(encoding="ascii"))
    header, open_rows, waiting, rules = ([b64decode(text) for text in each] for each in values.values())
    stream = TableStream()
    stream.state, stream.rules = BucketState(header[0], tuple(open_rows), tuple(waiting)), rules[0]
    return stream


@both
def test_a_stored_bucket_is_read(file: Path) -> None:
    assert stored(file).open_rules() == [
        ("hungry", "suspended", None, 0),
        ("numbered", "active", None, 0),
        ("of-table", "active", None, 2),
        ("of-table", "active", "B", 2),
        ("of-table", "active", "C", 2),
        ("runs", "active", None, 2),
        ("runs", "active", "B", 2),
        ("runs", "active", "C", 2),
    ]


@both
def test_a_stored_bucket_goes_on(file: Path) -> None:
    stream = stored(file)
    output = stream.step(rows("AB", 21), 30)
    assert matches(output) == [("of-table", 1, {"a": 2, "c": 0}), ("runs", 1, {"a": 2, "c": 0})]
    output = stream.step(rows("C", 31, "q"), 31, rule("runs", "PATTERN (A", 2), rule("runs", "PATTERN (B", 2))
    assert matches(output) == [("of-table", 1, {"a": 0, "c": 0}), ("runs", 1, {"a": 0, "c": 0})]
    (rejected,) = of_kind(output, "rule_rejected")  # the other one is known as rejected
    assert rejected["message"].startswith("RULE_VERSION_EXISTS")
    assert stream.finish() == []


if __name__ == "__main__":
    write()
