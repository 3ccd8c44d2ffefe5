"""Readers of the console's sources: every file once, nothing outside the folder, no file stops the others."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.live_console.console_files import OUTPUT, START, TWICE, Clock, metrics_text, output_row, write_rows

import ostinato as ost
from ostinato.expressions.types import Settings
from ostinato.live_console.sources import committed_files, input_table, match_reader
from ostinato.live_console.sources.change_log_reader import ChangeLogReader
from ostinato.live_console.sources.folder_watch import FolderWatch, inside
from ostinato.live_console.sources.input_table import InputTable
from ostinato.live_console.sources.match_reader import MatchReader
from ostinato.live_console.sources.metrics_reader import MetricsReader, read_metrics
from ostinato.live_console.sources.open_states_reader import OpenStates, OpenStatesReader
from ostinato.live_console.sources.sink_rows import read_reports, read_sink_file
from ostinato.rule_sets.run_rows import run_schema


def codes(problems) -> list[str]:
    return [problem.code for problem in problems]


# --- folders ---


def test_a_folder_tells_each_file_once_and_edited_ones_again(tmp_path: Path) -> None:
    watch = FolderWatch(tmp_path, (".json",), depth=1)
    (tmp_path / "a.json").write_text("1")
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "b.json").write_text("1")
    assert {file.name for file in watch.look().new} == {"a.json", "day=1/b.json"}
    (tmp_path / "a.json").write_text("22")
    (tmp_path / "day=1" / "b.json").unlink()
    listing = watch.look()
    assert (listing.new, [file.name for file in listing.edited], listing.removed) == ((), ["a.json"], ("day=1/b.json",))


def test_links_and_hidden_names_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("1")
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "more").symlink_to(tmp_path)
    (folder / ".hidden.json").write_text("1")
    (folder / "_spark.json").write_text("1")
    assert FolderWatch(folder, (".json",), depth=3).look().new == ()
    with pytest.raises(PermissionError):
        inside(folder, "link.json")


# --- sinks ---


def test_rows_of_rules_in_parquet(tmp_path: Path) -> None:
    rows = [output_row(number=at) for at in range(5)] + [output_row("twice", "error", 5)]
    found = read_sink_file(write_rows(tmp_path / "part.parquet", rows), "part.parquet", 3)
    assert dict(found.counts) == {("twice", "match"): 5, ("twice", "error"): 1}
    assert [row.kind for row in found.last] == ["match", "match", "error"]
    row = found.last[0]
    assert (row.keys, row.began_ms, row.measures) == (
        (("user", "user-3"),),
        START.timestamp() * 1000 + 180_000,
        '{"total": 3}',
    )


def test_rows_of_rules_as_json_lines_give_the_same(tmp_path: Path) -> None:
    rows = [output_row(number=at) for at in range(3)]
    of_parquet = read_sink_file(write_rows(tmp_path / "part.parquet", rows), "part.parquet", 9)
    times = ("began", "ended", "decided")
    lines = [
        json.dumps({name: f"{value:%Y-%m-%dT%H:%M:%SZ}" if name in times else value for name, value in row.items()})
        for row in rows
    ]
    with gzip.open(tmp_path / "part.json.gz", "wt") as file:
        file.write("\n".join(lines) + "\n\n")
    assert read_sink_file(tmp_path / "part.json.gz", "part.json.gz", 9) == of_parquet


def test_rows_of_another_query_are_matches_without_a_rule(tmp_path: Path) -> None:
    table = pa.table({"symbol": ["ACME"], "began": pa.array([START], pa.timestamp("us", "UTC")), "bottom": [6.5]})
    pq.write_table(table, tmp_path / "part.parquet")
    found = read_sink_file(tmp_path / "part.parquet", "part.parquet", 9)
    assert (dict(found.counts), found.is_of_rules) == ({("", "match"): 1}, False)
    assert json.loads(found.last[0].measures) == {"symbol": "ACME", "began": "2024-03-01T09:00:00Z", "bottom": 6.5}
    assert found.last[0].began_ms == START.timestamp() * 1000


def test_only_times_are_times(tmp_path: Path) -> None:
    table = pa.table({"start": [float("nan"), 1.0], "ended": pa.array([START, None], pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "part.parquet")
    (tmp_path / "part.json").write_text('{"start": NaN, "ended": "2024-03-01T09:00:00Z"}\n{"start": 1.0}\n')
    for name in ("part.parquet", "part.json"):
        rows = read_sink_file(tmp_path / name, name, 9).last
        assert json.loads(rows[0].measures)["start"] == "NaN"
        assert [(row.began_ms, row.ended_ms) for row in rows] == [(None, START.timestamp() * 1000), (None, None)]


def test_partition_columns_come_from_the_path(tmp_path: Path) -> None:
    name = "rule=a%2Fb/part.parquet"
    path = tmp_path / name
    path.parent.mkdir()
    rows = pa.Table.from_pylist([output_row()]).drop_columns(["rule"])
    pq.write_table(rows, path)
    found = read_sink_file(path, name, 9)
    assert (dict(found.counts), found.last[0].rule) == ({("a/b", "match"): 1}, "a/b")


def test_partition_columns_are_keys_only_if_they_are_named(tmp_path: Path) -> None:
    write_rows(tmp_path / "day=2024-03-01" / "part.parquet", [output_row(user="ann")])
    line = {"kind": "match", "rule": "r", "decided": None, "user": "ann"}
    (tmp_path / "day=2024-03-01" / "part.json").write_text(json.dumps(line))
    for keys, expected in (((), {"user": "ann"}), (("day", "user"), {"user": "ann", "day": "2024-03-01"})):
        files = MatchReader(tmp_path, 100, keys=keys).look().files
        assert [dict(row.keys) for file in files for row in file.last] == [expected] * 2


def test_rows_of_a_run_have_a_severity_and_keys_in_json(tmp_path: Path) -> None:
    times = {name: pa.array([START, None], pa.timestamp("us", "UTC")) for name in ("began", "ended")}
    columns = {
        "kind": ["match", "rule_changed"],
        "rule": ["twice", "twice"],
        "severity": ["high", None],
        "version": [1, 1],
        "keys": ['{"user":"ann","shop":7,"till":null}', None],
        **times,
    }
    table = pa.table(columns).select(run_names := [name for name in run_schema(Settings()).names if name in columns])
    pq.write_table(table, tmp_path / "part.parquet")
    lines = [{name: row[name] for name in run_names if row[name] is not None} for row in table.to_pylist()]
    (tmp_path / "part.json").write_text("".join(f"{json.dumps(line, default=str)}\n" for line in lines))
    for name in ("part.parquet", "part.json"):
        match, report = read_sink_file(tmp_path / name, name, 9).last
        assert (match.keys, match.severity) == ((("user", "ann"), ("shop", "7"), ("till", None)), "high")
        assert (report.keys, report.severity) == ((), "")
        assert match.began_ms == START.timestamp() * 1000


def test_keys_that_arent_json_are_shown_as_they_are(tmp_path: Path) -> None:
    line = {"kind": "match", "rule": "r", "severity": "low", "day": 3}
    for text in ("ann", "[1]", "[" * 100_000):
        (tmp_path / "part.json").write_text(json.dumps({**line, "keys": text}))
        (row,) = read_sink_file(tmp_path / "part.json", "part.json", 9).last
        assert [name for name, _ in row.keys] == ["day", "keys"] and row.severity == "low"


def test_each_file_is_read_once(tmp_path: Path) -> None:
    reader = MatchReader(tmp_path, 100)
    assert reader.look().files == ()
    write_rows(tmp_path / "one.parquet", [output_row()])
    assert len(reader.look().files) == 1
    assert reader.look().files == ()
    write_rows(tmp_path / "two.parquet", [output_row(number=1)])
    assert [row.match_id for file in reader.look().files for row in file.last] == [f"{1:032x}"]


def test_a_half_written_file_is_a_problem_until_it_is_whole(tmp_path: Path) -> None:
    whole = write_rows(tmp_path / "elsewhere" / "x.parquet", [output_row()]).read_bytes()
    sink = tmp_path / "sink"
    sink.mkdir()
    (sink / "half.parquet").write_bytes(whole[: len(whole) // 2])
    write_rows(sink / "good.parquet", [output_row("other")])
    reader = MatchReader(sink, 100)
    news = reader.look()
    assert (len(news.files), codes(news.problems)) == (1, ["SOURCE_NOT_READABLE"])
    assert str(tmp_path) not in news.problems[0].message
    (sink / "half.parquet").write_bytes(whole)
    news = reader.look()
    assert (len(news.files), news.problems) == (1, ())


BROKEN_FILES = {
    "cut.json.gz": gzip.compress(b"{}\n" * 1_000)[:-9],  # EOFError
    "deep.json": b"[" * 100_000,  # RecursionError
    "text.json": b"\xff\xfe",
}


@pytest.mark.parametrize("name", [*BROKEN_FILES, "far.parquet"])
def test_no_broken_file_takes_the_others_along(name: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "before.parquet", [output_row()])
    if name in BROKEN_FILES:
        (tmp_path / name).write_bytes(BROKEN_FILES[name])
    else:  # OverflowError
        pq.write_table(pa.table({"start": pa.array([10**7], pa.int32()).cast(pa.date32())}), tmp_path / name)
    write_rows(tmp_path / "later.parquet", [output_row(number=1)])
    for at, each in enumerate(("before.parquet", name, "later.parquet")):
        os.utime(tmp_path / each, (at + 1, at + 1))
    news = MatchReader(tmp_path, 100).look()
    assert ([row.rule for file in news.files for row in file.last], codes(news.problems)) == (
        ["twice", "twice"],
        ["SOURCE_NOT_READABLE"],
    )
    assert name in news.problems[0].message


def test_a_folder_inside_a_closed_one_is_a_problem(tmp_path: Path, monkeypatch) -> None:
    def refused(*_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, "is_dir", refused)
    for reader in (MatchReader(tmp_path, 100), ChangeLogReader(tmp_path), OpenStatesReader(tmp_path)):
        (problem,) = reader.look().problems
        assert problem.code == "SOURCE_NOT_READABLE"
        assert problem.message.endswith("can't be read: Permission denied")


def test_a_file_that_stays_broken_is_tried_a_limited_number_of_times(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(match_reader, "_ATTEMPTS", 2)
    tried = []
    real = match_reader.read_sink_file
    monkeypatch.setattr(match_reader, "read_sink_file", lambda *args: tried.append(args) or real(*args))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    reader = MatchReader(tmp_path, 100)
    assert [codes(reader.look().problems) for _ in range(4)] == [["SOURCE_NOT_READABLE"]] * 4
    assert len(tried) == 2


def test_a_sink_that_is_missing_is_waited_for(tmp_path: Path) -> None:
    reader = MatchReader(tmp_path / "sink", 100)
    assert codes(reader.look().problems) == ["SOURCE_MISSING"]
    write_rows(tmp_path / "sink" / "a.parquet", [output_row()])
    news = reader.look()
    assert (len(news.files), news.problems, news.is_backlog) == (1, (), False)


def test_a_folder_without_permission_is_a_problem(tmp_path: Path, monkeypatch) -> None:
    def refused(_):
        raise PermissionError(13, "Permission denied")

    reader = MatchReader(tmp_path, 100)
    monkeypatch.setattr(os, "scandir", refused)
    news = reader.look()
    assert codes(news.problems) == ["SOURCE_NOT_READABLE"]
    assert "Permission denied" in news.problems[0].message
    assert codes(ChangeLogReader(tmp_path).look().problems) == ["SOURCE_NOT_READABLE"]


def test_of_a_large_sink_the_newest_files_are_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(match_reader, "_FIRST_FILES", 2)
    for at in range(5):
        path = write_rows(tmp_path / f"{at}.parquet", [output_row(number=at)])
        os.utime(path, (at + 1, at + 1))
    reader = MatchReader(tmp_path, 100)
    news = reader.look()
    assert (news.skipped_files, [row.match_id[-1] for file in news.files for row in file.last]) == (3, ["3", "4"])
    write_rows(tmp_path / "5.parquet", [output_row(number=5)])
    assert reader.look().skipped_files == 3


def test_reports_about_rules_come_from_the_whole_file(tmp_path: Path) -> None:
    rows = [
        output_row("a", "rule_rejected", message="no"),
        *(output_row(number=at) for at in range(20)),
        output_row("b", "rule_changed"),
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=OUTPUT), tmp_path / "part.parquet", row_group_size=4)
    lines = [json.dumps({**row, "began": None, "ended": None, "decided": None}) for row in rows]
    (tmp_path / "part.json").write_text("\n".join(lines))
    for name in ("part.parquet", "part.json"):
        found = read_sink_file(tmp_path / name, name, 3)
        assert [(row.rule, row.kind) for row in found.reports] == [("a", "rule_rejected"), ("b", "rule_changed")]
        assert read_reports(tmp_path / name, name) == found.reports
        assert len(found.last) == 3
    write_rows(tmp_path / "none.parquet", rows[1:-1])
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    assert read_reports(tmp_path / "none.parquet", "none.parquet") == ()
    assert read_reports(tmp_path / "other.parquet", "other.parquet") == ()


def test_reports_of_a_partition_column(tmp_path: Path) -> None:
    rows = [{name: value for name, value in output_row("a", "rule_rejected").items() if name != "kind"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part.parquet")
    (tmp_path / "part.json").write_text('{"rule": "a", "version": 1}\n')
    for name in ("part.parquet", "part.json"):
        assert [row.rule for row in read_reports(tmp_path / name, f"kind=rule_rejected/{name}")] == ["a"]
        assert read_reports(tmp_path / name, f"kind=match/{name}") == ()


def test_older_files_are_searched_for_reports(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(match_reader, "_FIRST_FILES", 1)
    monkeypatch.setattr(match_reader, "_OLDER_FILES", 3)
    reported = [output_row("a", "rule_changed"), output_row("b", "rule_rejected")]
    files = [[output_row("z", "rule_rejected")], reported, [output_row("c", "rule_rejected")], [], [output_row()]]
    for at, rows in enumerate(files):
        path = write_rows(tmp_path / f"{at}.parquet", rows)
        os.utime(path, (at + 1, at + 1))
    (tmp_path / "3.parquet").write_bytes(b"PAR1")
    os.utime(tmp_path / "3.parquet", (4, 4))
    reader = MatchReader(tmp_path, 100)
    news = reader.look()
    assert (len(news.files), [row.rule for row in news.older_reports]) == (1, ["c", "b", "a"])
    assert codes(news.problems) == ["SOURCE_NOT_READABLE"] and news.problems[0].message.endswith("rules: 1")
    assert reader.look().older_reports == ()


def test_a_look_ends_after_a_while_and_the_next_one_goes_on(tmp_path: Path) -> None:
    for at in range(3):
        write_rows(tmp_path / f"{at}.parquet", [output_row(number=at)])
    clock = Clock()

    def tick() -> float:
        clock.now += 0.3
        return clock.now

    reader = MatchReader(tmp_path, 100, clock=tick)
    looks = [reader.look() for _ in range(3)]
    assert [(len(look.files), look.waiting_files) for look in looks] == [(1, 2), (1, 1), (1, 0)]
    assert [look.is_backlog for look in looks] == [True, True, True]
    assert not reader.look().is_backlog


# --- Spark's log of a sink ---


def commit(sink: Path, batch: str, *names: str, root: str | None = None) -> None:
    log = sink / "_spark_metadata"
    log.mkdir(parents=True, exist_ok=True)
    entries = [{"path": f"file://{root or sink}/{name}", "action": "add"} for name in names]
    (log / batch).write_text("\n".join(["v1", *map(json.dumps, entries)]))


def test_only_files_that_spark_has_committed_count(tmp_path: Path) -> None:
    for name in ("a", "b", "left-over", "c"):
        write_rows(tmp_path / f"{name}.parquet", [output_row(name)])
    commit(tmp_path, "0", "a.parquet")
    reader = MatchReader(tmp_path, 100)

    def rules() -> list[str]:
        return [row.rule for file in reader.look().files for row in file.last]

    assert rules() == ["a"]
    commit(tmp_path, "1", "b.parquet")
    assert rules() == ["b"]
    commit(tmp_path, "2.compact", "a.parquet", "b.parquet", "c.parquet")
    assert rules() == ["c"]
    assert [row.rule for file in MatchReader(tmp_path, 100).look().files for row in file.last] == ["a", "b", "c"]


def test_files_from_before_sparks_log_arent_read_twice(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", [output_row("a")])
    reader = MatchReader(tmp_path, 100)
    assert len(reader.look().files) == 1
    write_rows(tmp_path / "b.parquet", [output_row("b")])
    write_rows(tmp_path / "c.parquet", [output_row("c")])
    commit(tmp_path, "0", "c.parquet", "a.parquet", "b.parquet")
    assert [row.rule for file in reader.look().files for row in file.last] == ["c", "b"]


def test_a_path_in_sparks_log_never_leads_out_of_the_sink(tmp_path: Path) -> None:
    write_rows(tmp_path / "secret.parquet", [output_row("secret")])
    sink = tmp_path / "sink"
    commit(sink, "0", "../secret.parquet")
    news = MatchReader(sink, 100).look()
    assert (news.files, codes(news.problems)) == ((), ["SOURCE_NOT_READABLE"])


@pytest.mark.parametrize("what", ["log", "log file", "pipe", "data pipe", "too long"])
def test_sparks_log_is_read_inside_the_sink_only(what: str, tmp_path: Path, monkeypatch) -> None:
    sink, elsewhere = tmp_path / "sink", tmp_path / "elsewhere"
    write_rows(sink / "a.parquet", [output_row("a")])
    commit(elsewhere, "0", "a.parquet", root=str(sink))
    log = sink / "_spark_metadata"
    if what == "log":
        log.symlink_to(elsewhere / "_spark_metadata")
    elif what == "log file":
        log.mkdir()
        (log / "0").symlink_to(elsewhere / "_spark_metadata" / "0")
    elif what == "pipe":
        log.mkdir()
        os.mkfifo(log / "0")
    elif what == "data pipe":
        os.mkfifo(sink / "b.parquet")
        commit(sink, "0", "b.parquet")
    else:
        monkeypatch.setattr(committed_files, "_MOST_BYTES", 20)
        commit(sink, "0", "a.parquet")
    news = MatchReader(sink, 100).look()
    assert (news.files, codes(news.problems)) == ((), ["SOURCE_NOT_READABLE"])


def test_files_before_a_broken_log_arent_lost(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", [output_row("a")])
    write_rows(tmp_path / "b.parquet", [output_row("b")])
    commit(tmp_path, "0", "a.parquet")
    (tmp_path / "_spark_metadata" / "1").write_text("v1\n{")
    reader = MatchReader(tmp_path, 100)
    news = reader.look()
    assert (len(news.files), codes(news.problems)) == (1, ["SOURCE_NOT_READABLE"])
    commit(tmp_path, "1", "b.parquet")
    news = reader.look()
    assert ([row.rule for file in news.files for row in file.last], news.problems) == (["b"], ())


def test_a_broken_log_of_spark_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "0").write_text("v1\n{")
    assert codes(MatchReader(tmp_path, 100).look().problems) == ["SOURCE_NOT_READABLE"]


# --- change log ---


def test_changes_are_read_once(tmp_path: Path) -> None:
    ost.write_rule(tmp_path, "twice", TWICE)
    reader = ChangeLogReader(tmp_path)
    assert [(change.id, change.version) for change in reader.look().changes] == [("twice", 1)]
    ost.suspend_rule(tmp_path, "twice", "too slow")
    (change,) = reader.look().changes
    assert (change.version, change.enabled, change.options.reason) == (2, False, "too slow")
    assert reader.look() == reader.look()


def test_a_log_edited_by_hand_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    ost.write_rule(tmp_path, "twice", TWICE)
    ost.write_rule(tmp_path, "gone", TWICE)
    reader = ChangeLogReader(tmp_path)
    reader.look()
    (tmp_path / "twice.v00000001.json").write_text('{"id": "twice", "version": 1, "text": "PATTERN (A) "}')
    (tmp_path / "gone.v00000001.json").unlink()
    (tmp_path / "typo.json").write_text('{"id": "typo", "version": 1, "text": "PATTERN (A)", "enabeld": false}')
    (tmp_path / "noise.json").write_text("{")
    (tmp_path / "two.json").write_text('{"id": "twice", "version": 1, "text": "PATTERN (B)"}')
    (tmp_path / "good.json").write_text('{"id": "good", "version": 1, "text": "PATTERN (A)"}')
    news = reader.look()
    assert [change.id for change in news.changes] == ["good"]
    assert sorted(codes(news.problems)) == [
        "INVALID_RULE",
        "INVALID_RULE",
        "RULE_FILE_EDITED",
        "RULE_FILE_REMOVED",
        "RULE_VERSION_EXISTS",
    ]
    assert any("did you mean 'enabled'" in problem.hint for problem in news.problems)


# --- metrics ---


def test_numbers_of_several_clauses_are_added_up() -> None:
    text = (
        "# HELP ostinato_rows_total Rows\n"
        + metrics_text(rows_total=3)
        + 'ostinato_rows_total{query="alerts",clause="c2"} 4\n'
        + 'ostinato_batch_seconds{query="alerts",phase="addBatch"} 0.5\n'
        + 'ostinato_rule_seconds_total{query="alerts",rule="a \\"b\\"\\\\n\\n"} 1.5\n'
        + "other_metric{} 3\n"
    )
    numbers = read_metrics(text)
    assert numbers.sum("rows_total") == 7
    assert (numbers.phases, numbers.rule_seconds) == ({"alerts": {"addBatch": 0.5}}, {'a "b"\\n\n': 1.5})
    assert numbers.sum("late_rows_total") is numbers.most("open_runs") is numbers.least("watermark_seconds") is None


def test_metrics_that_arent_finite_are_left_out() -> None:
    text = metrics_text(rows_total=float("nan"), open_runs=float("inf"), state_bytes=7)
    assert read_metrics(text).totals == {"alerts": {"state_bytes": 7}}


def test_metrics_are_read_when_the_file_was_replaced(tmp_path: Path) -> None:
    file = tmp_path / "stream.prom"
    reader = MetricsReader(file)
    assert codes(reader.look().problems) == ["SOURCE_MISSING"]
    file.write_text(metrics_text(rows_total=1))
    first = reader.look().numbers
    assert first is not None and first.sum("rows_total") == 1
    assert reader.look().numbers is None
    file.write_text("ostinato_rows_total what\n")
    assert codes(reader.look().problems) == ["SOURCE_NOT_READABLE"]
    file.write_text(metrics_text(rows_total=22))
    again = reader.look()
    assert again.numbers is not None and (again.numbers.sum("rows_total"), again.problems) == (22, ())


def test_metrics_of_a_stream_are_read_back() -> None:
    pytest.importorskip("pyspark")
    from ostinato.spark.streams.stream_metrics import QueryMetrics, StreamMetrics

    metrics = StreamMetrics()
    query = metrics.queries["1"] = QueryMetrics('night "shift"\n')
    query.of_clause["c1"] = {"rows_total": 5, "open_runs": 2}
    query.of_rule = {"a\\b": 0.25}
    query.of_phase = {"triggerExecution": 1.5}
    numbers = read_metrics(metrics.text())
    assert numbers.totals['night "shift"\n'] == {"rows_total": 5, "open_runs": 2, "batches_total": 0}
    assert (numbers.rule_seconds, numbers.phases) == ({"a\\b": 0.25}, {'night "shift"\n': {"triggerExecution": 1.5}})


# --- states, input ---


def test_open_states_stay_while_spark_replaces_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    reader = OpenStatesReader(folder)
    assert codes(reader.look().problems) == ["SOURCE_MISSING"]
    folder.mkdir()
    rows = [{"rule": "r", "keys": 3, "status": "active"}, {"rule": "r", "state": 1, "variable": "B", "keys": 2}]
    (folder / "part-0.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = reader.look().rules
    assert found is not None and (found["r"].keys, found["r"].states) == (3, ((1, "B", 2),))
    (folder / "part-0.json").unlink()
    assert reader.look().rules is None
    (folder / "part-1.json").write_text('{"rule": "r", "keys": 9, "status": "active"}\n')
    found = reader.look().rules
    assert found is not None and found["r"].keys == 9
    (folder / "part-1.json").write_text(
        '{"rule": "r", "keys": 1, "version": 2, "status": "suspended"}\n'
        '{"rule": "r", "keys": 1, "version": 2, "status": "active"}\n'
        '{"rule": "r", "keys": 1, "version": 1, "status": "active"}\n'
    )
    found = reader.look().rules
    assert found is not None and found["r"] == OpenStates(3, "suspended", (), 2)
    for text in ("[]\n", '{"rule": "r", "keys": 1e999}', "[" * 100_000):
        (folder / "part-1.json").write_text(text)
        assert codes(reader.look().problems) == ["SOURCE_NOT_READABLE"]


def test_the_newest_rows_of_an_input(tmp_path: Path, monkeypatch) -> None:
    for at in range(3):
        pq.write_table(pa.table({"n": [at, at]}), tmp_path / f"{at}.parquet")
        os.utime(tmp_path / f"{at}.parquet", (at + 1, at + 1))
    table = InputTable(tmp_path, most_rows=3)
    assert table.read()["n"].to_pylist() == [1, 2, 2]
    assert table.read() is table.read()
    pq.write_table(pa.table({"n": [7]}), tmp_path / "new.parquet")
    read = []
    real = input_table._read
    monkeypatch.setattr(input_table, "_read", lambda path: read.append(path.name) or real(path))
    assert (table.read()["n"].to_pylist(), read) == ([2, 2, 7], ["new.parquet"])
    (tmp_path / "half.parquet").write_bytes(b"PAR1")
    assert table.read()["n"].to_pylist() == [2, 2, 7]


def test_an_input_that_cant_be_read(tmp_path: Path) -> None:
    with pytest.raises(ost.QueryError, match="SOURCE_MISSING"):
        InputTable(tmp_path).read()
    with pytest.raises(ost.QueryError, match="SOURCE_NOT_READABLE"):
        InputTable(tmp_path / "none.parquet").read()
    (tmp_path / "rows.csv").write_text("ts,n\n2024-03-01 09:00:00,1\n")
    assert InputTable(tmp_path / "rows.csv").read().column_names == ["ts", "n"]


@pytest.mark.parametrize(
    "text",
    ["2024-03-01T09:00:00.000Z", "2024-03-01T10:00:00.000+01:00", "2024-03-01T09:00:00Z", "2024-03-01 09:00:00.0"],
)
def test_times_of_json_are_times_as_spark_writes_them(text: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps({"ts": text, "note": "soon", "n": 1, "none": None}) + "\n")
    table = InputTable(tmp_path).read()
    assert table["ts"].to_pylist() == [START]
    assert table["ts"].type == pa.timestamp("us", "UTC")
    assert table["note"].to_pylist() == ["soon"]


def test_texts_that_arent_all_times_stay_texts(tmp_path: Path) -> None:
    rows = [{"ts": "2024-03-01T09:00:00.000Z", "empty": ""}, {"ts": "later", "empty": None}]
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = InputTable(tmp_path).read()
    assert table["ts"].to_pylist() == ["2024-03-01T09:00:00.000Z", "later"]
    assert table["empty"].to_pylist() == ["", None]
