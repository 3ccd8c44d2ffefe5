"""Random texts of the six languages."""

from __future__ import annotations

from random import Random

from tests.fuzz.fragments import VARIABLES, Fragments


def clause(rng: Random) -> str:
    """What stands between the parentheses of MATCH_RECOGNIZE."""
    f = Fragments(rng)
    words = []
    if f.chance(0.5):
        words.append(f"PARTITION BY {f.several(f.column, 2)}")
    if f.chance(0.9):
        order = f"{f.column()}{f.one(('', ' DESC', ' ASC NULLS LAST'))}" if f.chance(0.3) else "id"
        words.append(f"ORDER BY {order}")
    words.append(f"MEASURES {f.several(lambda: f'{f.expression()} AS {f.one(_NAMES)}', 2)}")
    if f.chance(0.3):
        words.append(f.one(_OUTPUTS))
    if f.chance(0.3):
        words.append(f.one(_SKIPS))
    words.append(f"PATTERN ({f.pattern()})")
    if f.chance(0.15):
        words.append(
            f.one(("WITHIN INTERVAL '2' SECOND", "WITHIN 5", f"WITHIN {f.literal()}", f"MAXLENGTH {f.literal()}"))
        )
    if f.chance(0.15):
        words.append(f"SUBSET U = ({f.several(lambda: f.one(VARIABLES), 2)})")
    if f.chance(0.9):
        words.append(f"DEFINE {f.several(lambda: f'{f.one(VARIABLES)} AS {f.expression()}', 2)}")
    return " ".join(words)


_NAMES = ("n", "m", "`a b`", "n2", "id", "__ost_x", '"q"')
_OUTPUTS = (
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    "ONE ROW PER MATCH SHOW TIMEOUT MATCHES",
)
_SKIPS = (
    "AFTER MATCH SKIP PAST LAST ROW",
    "AFTER MATCH SKIP TO NEXT ROW",
    "AFTER MATCH SKIP TO FIRST B",
    "AFTER MATCH SKIP TO LAST A",
    "ALL MATCHES",
    "INCREMENTAL MATCHES",
    "MAXIMAL MATCHES",
)


def statement(rng: Random) -> str:
    """Full SQL with clauses in it."""
    f = Fragments(rng)
    source = f.one(
        ("t", "t AS u", "(SELECT * FROM t)", f"(SELECT * FROM t MATCH_RECOGNIZE ({clause(rng)}))", "", "db.t")
    )
    table = f"{source} MATCH_RECOGNIZE ({clause(rng)}){f.one(('', ' AS m', ' m', ' AS m (a, b)', ' AS'))}"
    items = f.one(("*", "m.*", f"n, {f.expression()} AS z", f.expression(), "DISTINCT n", ""))
    text = f"SELECT {items} FROM {table if f.chance(0.9) else ''}"
    if f.chance(0.2):
        text += f" {f.one(('WHERE', 'GROUP BY', 'ORDER BY', 'LIMIT', 'JOIN', 'UNION ALL'))} {f.expression(1)}"
    if f.chance(0.15):
        outer = f.one(("", f"MATCH_RECOGNIZE ({clause(rng)})"))
        text = f"WITH {f.one(('', 'RECURSIVE '))}c AS ({text}) SELECT * FROM c {outer}"
    if f.chance(0.05):
        text = f"WITH RECURSIVE c AS (SELECT * FROM t UNION ALL SELECT * FROM c MATCH_RECOGNIZE ({clause(rng)})) {text}"
    return text


def event_query(rng: Random) -> str:
    """An event query; its types are a, b and c in column k."""
    f = Fragments(rng)

    def event() -> str:
        return f.one(("a", "b", "c", "a v", "b w", "a+ v", "b+", "c* w", "c?", "NOT c", "NOT (c)", "z"))

    def pattern(depth: int) -> str:
        if depth == 0 or f.chance(0.4):
            return event()
        inner = f.several(lambda: pattern(depth - 1), 3)
        return f.one((f"SEQ({inner})", f"SEQ({inner})", f"({pattern(depth - 1)} OR {pattern(depth - 1)})",
                      f"({pattern(depth - 1)}){f.one(('+', '*', '?'))}", f"{event()} AND {event()}"))  # fmt: skip

    def condition() -> str:
        variable = f.one(("v", "w", "a", "b", "NEXT(v)", "PREV(v)", "FIRST(v)", "LAST(w)", "v[]", "v[i]"))
        compared = f"{variable}.{f.column()} {f.one(('<', '=', '>=', '+', 'LIKE'))} {f.expression(1)}"
        return f.one((compared, compared, f"SAME[{f.several(f.column, 2)}]", f.expression(2)))

    words = [f"PATTERN SEQ({f.several(lambda: pattern(2), 3)})" if f.chance(0.7) else f"PATTERN {pattern(3)}"]
    if f.chance(0.2):
        words.append(f.one(("STRICT", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")))
    if f.chance(0.5):
        words.append(f"WHERE {f.several(condition, 2, ' AND ')}")
    if f.chance(0.3):
        words.append(f"GROUP BY {f.several(f.column, 2)}")
    if f.chance(0.6):
        length = f.one(("5", "2 SECONDS", "10 EVENTS", "1 HOUR", f"{f.literal()} SECONDS", f.literal()))
        slide = f.one(("", "", " TUMBLE", " SLIDE 1 SECOND", " SLIDE 2 EVENTS", f" SLIDE {f.literal()}"))
        words.append(f"WITHIN {length}{slide}")
    returned = f.several(
        lambda: f.one(
            ("COUNT(*)", "SUM(v.x)", "AVG(b.i)", "MIN(w.id)", "COUNT(v)", "k", "WINDOW_START", f.expression(1))
        ),
        3,
    )
    words.append(f"RETURN {f.one((returned, returned, 'MATCHES', 'MATCHES LIMIT 2', f'MATCHES LIMIT {f.literal()}'))}")
    return " ".join(words)


def path(rng: Random) -> str:
    """A path query over the relations r, s and u."""
    f = Fragments(rng)

    def part(depth: int) -> str:
        atom = f.one(("r", "s", "u", ".", "`r`", "film.by")) if depth == 0 or f.chance(0.7) else f"({paths(depth - 1)})"
        typed = f"[{f.several(lambda: f.one(('T', 'U')), 2, '|')}]" if f.chance(0.15) else ""
        times = f.one(("*", "+", "?", "{2}", "{1,}", "{,3}", "{1,3}", f"{{{f.literal()}}}", f"{{1,{f.literal()}}}"))
        return f"{'^' if f.chance(0.3) else ''}{atom}{typed}{times if f.chance(0.3) else ''}"

    def paths(depth: int) -> str:
        return f.several(lambda: f.several(lambda: part(depth), 3, " / "), 2, " | ")

    return paths(3)


def summary(rng: Random) -> str:
    """A regular expression over event types."""
    f = Fragments(rng)

    def tree(depth: int) -> str:
        letter = f.one(("a", "b", "c", "ab", "`a`", "z"))
        inner = letter if depth == 0 or f.chance(0.5) else f"({f.several(lambda: tree(depth - 1), 2, '|')})"
        return f.several(lambda: inner + f.one(("", "", "*", "+", "?", "**")), 3, " ")

    return tree(3)


def correlation(rng: Random) -> str:
    """A join of two clauses by RECENT."""
    f = Fragments(rng)
    if f.chance(0.6):
        live = "ORDER BY id MEASURES LAST(x) AS low INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS x < PREV(x)"
        archive = "ORDER BY id MEASURES LAST(x) AS top MAXIMAL MATCHES PATTERN (A B+) DEFINE B AS x > PREV(x)"
        if f.chance(0.4):
            live = live.replace("B AS x < PREV(x)", f"B AS {f.expression(2)}")
    else:
        live, archive = clause(rng), clause(rng)
    distance = f.one(("4", "3 ROWS", "INTERVAL '5' SECOND", f.literal(), f"{f.literal()} ROWS", f.expression(1)))
    also = f" AND {f.expression(1)}" if f.chance(0.3) else ""
    items = f.one(("*", "live.low, archive.top", "correlation_start", f.expression(1), "live.*"))
    joined = f"{f.one(('JOIN', 'CROSS JOIN', ','))} t MATCH_RECOGNIZE ({archive}) AS archive"
    recent = f"{f.one(('ON', 'ON', 'WHERE'))} RECENT(archive, live, {distance}){also}"
    return f"SELECT {items} FROM t MATCH_RECOGNIZE ({live}) AS live {joined} {recent}"
