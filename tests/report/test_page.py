"""The report is one well-formed page that loads nothing, with the matches drawn where they are."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table
from ostinato.pictures.price_chart import COMPACT, Excerpt, price_chart
from ostinato.report.excerpts import clearest, excerpt_of, sample, sample_rows, series_by_key
from ostinato.report.page import Setting, StoryAnswer, report_page
from ostinato.report.sample_events import SYMBOLS, make_payments, make_trades
from ostinato.report.sql_words import marked_sql
from ostinato.report.stories import HEAD_AND_SHOULDERS, STORIES, V_SHAPES

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Nesting(HTMLParser):
    """Raises where a tag is closed that isn't open; keeps what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "srcset", "data", "action"):
                self.links.append(value)

    def handle_startendtag(self, tag, attrs) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


def answer(story, table) -> StoryAnswer:
    return StoryAnswer(story, match_table(parse_clause(story.clause), table), 1.5)


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return {"trades": make_trades(30_000), "payments": make_payments(8_000).table}


@pytest.fixture(scope="module")
def page(tables) -> str:
    answers = [answer(story, tables[story.table]) for story in STORIES]
    return report_page(answers, tables, Setting("Ostinato <1>", ["ostinato run a&b.sql"]))


def test_the_page_is_well_formed(page) -> None:
    parser = Nesting()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))


def test_the_page_loads_nothing(page) -> None:
    parser = Nesting()
    parser.feed(page)
    assert "http://" not in page and "https://" not in page
    assert "url(" not in page and "@import" not in page
    assert not parser.seen & {"link", "img", "iframe", "object"}
    assert parser.links == [f"#{story.anchor}" for story in STORIES]
    assert set(parser.ids) == {story.anchor for story in STORIES}


def test_every_query_is_on_the_page_as_it_was_run(page) -> None:
    found = [re.sub(r"<[^>]+>", "", code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)]
    for story, shown in zip(STORIES, found, strict=False):
        assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'").replace("&amp;", "&") == story.sql


def test_text_is_escaped(page) -> None:
    assert "Ostinato &lt;1&gt;" in page
    assert "a&amp;b.sql" in page


def test_both_colour_schemes_and_a_title_for_every_picture(page) -> None:
    assert page.count("prefers-color-scheme: dark") >= 2
    assert page.count("<svg ") == len(re.findall(r'<svg [^>]*role="img"[^>]*><title>[^<]', page))


MARKS = {"stem", "knot", "context", "neckline", "band", "overview", "tick"}


def test_the_legends_name_all_that_is_drawn(page) -> None:
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        charts = "".join(re.findall(r"<svg.*?</svg>", section, re.DOTALL))
        drawn = {word for words in re.findall(r'class="([\w -]+)"', charts) for word in words.split()}
        named = {word for words in re.findall(r'<i class="([\w -]+)"', section) for word in words.split()}
        assert drawn & MARKS <= named
        assert {f"tone-{i}" for i in range(5)} & drawn <= named


def test_tables_have_a_caption_and_scopes(page) -> None:
    assert page.count("<table>") == page.count("<table><caption>") == 3
    assert not re.search(r"<th(?! scope=\"col\")[ >]", page)
    assert "Head and shoulders: 8 of" in page


def test_rows_of_the_table_are_from_all_keys(tables) -> None:
    shown = sample(answer(HEAD_AND_SHOULDERS, tables["trades"]).matches, "symbol", 8)
    assert set(shown["symbol"].to_pylist()) == set(SYMBOLS)
    assert shown["began"].to_pylist() != sorted(shown["began"].to_pylist())  # still by symbol, then by time
    assert sample_rows(list("aab"), 8) == [0, 1, 2]
    assert sample_rows([str(i) for i in range(100)], 4) == [0, 25, 50, 75]


def test_pictures_say_what_is_seen(page, tables) -> None:
    titles = re.findall(r"<svg [^>]*><title>([^<]*)</title>", page)
    price = r"\w{4}, \d+ \w+ 2025: the price goes from [\d.]+ (up|down) to [\d.]+(, (up|down) to [\d.]+)*; "
    assert (
        sum(bool(re.match(price + r"Head and shoulders from \d\d:\d\d to .*, \d+ trades", title)) for title in titles)
        == 6
    )
    assert sum(bool(re.match(price + "V shapes from ", title)) for title in titles) == 6
    payment = (
        r"card-\d+, \d+ \w+ 2025: \d payments of [\d.]+ to [\d.]+, then one of [\d,.]+ \([\w ]+\); Card fraud from "
    )
    assert sum(bool(re.match(payment, title)) for title in titles) == 3
    whole = r"\w{4}: the price from 6 January 2025 to \d+ January 2025, between [\d.]+ and [\d.]+, with \d+ match"
    assert sum(bool(re.match(whole, title)) for title in titles) == 2 * len(SYMBOLS)
    assert len(titles) == 15 + 2 * len(SYMBOLS)


def test_the_page_prints_in_light_colours_and_needs_no_script(page) -> None:
    assert page.count("@media screen and (prefers-color-scheme: dark)") == page.count("prefers-color-scheme") == 2
    assert "@media print" in page
    assert page.count("<script>") == 1
    assert page.count('class="hit"') == page.count('class="hit"><title>')
    for words in ("pointerdown", "keydown", "ArrowRight", '"focus"'):
        assert words in page


def test_one_input_one_page(tables, page) -> None:
    again = [answer(story, tables[story.table]) for story in STORIES]
    assert report_page(again, tables, Setting("Ostinato <1>", ["ostinato run a&b.sql"])) == page


def test_a_page_without_matches(tables) -> None:
    nothing = [StoryAnswer(each.story, each.matches.slice(0, 0), 0.1) for each in (answer(V_SHAPES, tables["trades"]),)]
    parser = Nesting()
    parser.feed(report_page(nothing, tables, Setting("", [])))
    assert parser.open == []


def test_the_drawn_rows_are_the_matched_rows(tables) -> None:
    trades = tables["trades"]
    matches = answer(HEAD_AND_SHOULDERS, trades).matches.to_pylist()
    series = series_by_key(trades, "symbol")
    drawn = clearest(HEAD_AND_SHOULDERS, matches, series, 4)
    assert len({match["symbol"] for match in drawn}) == 4
    for match in matches:
        excerpt = excerpt_of(match, series[match["symbol"]])
        prices = dict(zip(excerpt.labels, excerpt.values[excerpt.first : excerpt.last + 1], strict=True))
        assert (prices["G"], prices["M"]) == (match["head"], match["reversal"])
        assert excerpt.times[excerpt.first] == match["began"]
        assert excerpt.times[excerpt.last] == match["ended"]


def test_a_match_at_the_edge_of_the_data_is_drawn(tables) -> None:
    times = tables["trades"]["ts"].to_pylist()[:4]
    excerpt = Excerpt("X", times, [3.0, 1.0, 1.0, 3.0], ["TOP", "FALL", "RISE", "BACK"], 0)
    drawn = ElementTree.fromstring(price_chart(excerpt, V_SHAPES, COMPACT, title="<edge> & all"))
    assert drawn[0].text == "<edge> & all"
    flat = Excerpt("X", times, [1.0, 1.0, 1.0, 1.0], ["TOP", "FALL", "RISE", "BACK"], 0)
    assert "nan" not in price_chart(flat, V_SHAPES, COMPACT, title="flat")


def test_markup_never_changes_the_sql() -> None:
    sql = "SELECT '<b>' AS x -- a & b\nFROM t WHERE y >= 1.5"
    plain = re.sub(r"</?[bi][^>]*>", "", marked_sql(sql))
    assert plain == "SELECT &#x27;&lt;b&gt;&#x27; AS x -- a &amp; b\nFROM t WHERE y &gt;= 1.5"
