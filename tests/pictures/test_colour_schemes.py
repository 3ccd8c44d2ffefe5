"""Stand-alone pictures: text and marks can be read in both colour schemes, and words say what is seen."""

import xml.etree.ElementTree as ET
from datetime import datetime

import pyarrow as pa
import pytest
from tests.pictures.contrast import GRAPHIC, TEXT, contrast, schemes

import ostinato as ost
from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.pictures import attempts_svg, automaton_svg, paths_svg, summary_svg
from ostinato.pictures.attempts_svg import DrawnAttempt, draw_attempts
from ostinato.pictures.automaton_svg import Picture, draw_automata
from ostinato.pictures.paths_svg import ShownPath, draw_paths

STYLES = {
    "summary": summary_svg.style(),
    "paths": paths_svg.STYLE,
    "automaton": automaton_svg.STYLE,
    "attempts": attempts_svg.STYLE,
}
QUERIES = [f"query-{i}" for i in range(8)]
TONES = [f"tone-{i}" for i in range(12)]
SEEN = [
    ("summary", "paper", TEXT, ["ink", "quiet"]),
    ("summary", "paper", GRAPHIC, ["edge", "now", "idle", "found", "lost", *TONES]),
    ("summary", "window", GRAPHIC, ["edge", "now", "idle", *TONES]),
    ("paths", "paper", TEXT, ["ink", "quiet"]),
    ("paths", "node", TEXT, ["ink"]),
    ("paths", "start", TEXT, ["ink"]),
    ("paths", "end", TEXT, ["ink"]),
    ("paths", "paper", GRAPHIC, ["node-edge", "start-edge", "end-edge", *QUERIES]),
    ("automaton", "paper", TEXT, ["ink", "quiet", "rank"]),
    ("automaton", "state", TEXT, ["ink", "quiet"]),
    ("automaton", "paper", GRAPHIC, ["line", "state-edge"]),
    ("attempts", "sheet", TEXT, ["ink", "quiet"]),
    ("attempts", "row", TEXT, ["ink"]),
    ("attempts", "stop", TEXT, ["ink"]),
    ("attempts", "sheet", GRAPHIC, ["row-edge", "stop-edge"]),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("picture", "ground", "least", "names"), SEEN)
def test_contrast(scheme, picture, ground, least, names) -> None:
    colours = schemes(STYLES[picture])[scheme]
    found = {name: round(contrast(colours[name], colours[ground]), 2) for name in names}
    assert min(found.values()) >= least, found


@pytest.mark.parametrize("picture", STYLES)
def test_every_colour_is_one_of_a_scheme(picture) -> None:
    """The rules after the two schemes use variables only."""
    rules = STYLES[picture].split("}}")[1]
    assert "#" not in rules and "opacity" not in rules


def description(svg: str) -> tuple[str, str]:
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    title, desc = (root.find(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc"))
    return title.text, desc.text


def test_an_automaton_in_words() -> None:
    svg = draw_automata([Picture(build_nfa(parse_row_pattern("A B* C")), {}, "rising")])
    assert description(svg) == (
        "The automaton of the pattern",
        "rising: start, then A; A, then B or C; B, then B or C; C, then match.",
    )


def test_paths_in_words() -> None:
    svg = draw_paths([ShownPath("a / b", ["s", "<m>", "e"], ["a", "b"]), ShownPath("a", ["s", "x"], ["a"])])
    assert description(svg) == (
        "Paths found: 2 paths",
        "Boxes in 3 columns from left to right (1, 2, 1), joined by relations. Best: s, a, <m>, b, e.",
    )


def test_attempts_in_words() -> None:
    svg = draw_attempts([DrawnAttempt("row 0: 1 row", ("A",), "row 1", ("B: x > 3 is FALSE: x = 1",))], "1 start row")
    assert description(svg) == ("Attempts: 1 start row", "row 0: 1 row: B: x > 3 is FALSE: x = 1")


def test_a_summary_in_words() -> None:
    table = pa.table({"ts": [datetime(2024, 1, 1, 0, i) for i in range(5)], "kind": list("ABBCA")})
    answer = ost.summary("A B* C", type="kind", time="ts", within="9 minutes", size=9).feed(table).ask()
    assert description(answer.svg(exact=8)) == (
        "A B* C: 4 matches among 5 of 5 events",
        "A time line of 5 events of the types A, B, C, from 2024-01-01 00:00:00 to 2024-01-01 00:04:00. 4 of them are "
        "in matches: the stronger the tone, the more, from 2 to 4. 4 of 8 matches found: 50.0 % lost.",
    )
