"""Random texts of the six languages."""

from __future__ import annotations

from random import Random

from tests.fuzz.fragments import VARIABLES, Fragments


def clause(rng: Random) -> str:
    """What stands between the parentheses of MATCH_RECOGNIZE."""
    f = Fragments(rng)
    words = []
    if f.chance(0.4):
        words.append(f"PARTITION BY {f.several(lambda: f.one(('k', 'b', 'i', f.column(f.one(('text', 'array'))))), 2)}")
    if f.chance(0.95):
        order = (
            f"{f.column('number')}{f.one(('', ' DESC', ' ASC NULLS LAST'))}" if f.chance(f.odd) else f.one(("id", "ts"))
        )
        words.append(f"ORDER BY {order}")
    names = list(_ODD_NAMES if f.chance(f.odd) else _NAMES)
    words.append(f"MEASURES {f.several(lambda: f'{f.expression()} AS {names.pop()}', 3)}")
    if f.chance(0.3):
        words.append(f.one(_OUTPUTS if f.chance(f.odd) else _OUTPUTS[:3]))
    if f.chance(0.3):
        words.append(f.one(_SKIPS))
    pattern = f.pattern()
    words.append(f"PATTERN ({pattern})")
    if f.chance(0.2):
        bounds = ("MAXLENGTH 3", "WITHIN INTERVAL '2' SECOND", f"WITHIN {f.literal()}", f"MAXLENGTH {f.literal()}")
        words.append(f.one(bounds if f.chance(f.odd) else bounds[:1]))
    used = [name for name in VARIABLES if name in pattern] or ["A"]
    if f.chance(0.15):
        words.append(f"SUBSET U = ({', '.join(used)})")
    defined = rng.sample(VARIABLES if f.chance(f.odd) else used, rng.randint(0, len(used)))
    if defined:
        conditions = (f"{name} AS {f.expression(3, 'truth')}" for name in defined)
        words.append(f"DEFINE {', '.join(conditions)}")
    return " ".join(words)


_NAMES = ("n", "m", "o")
_ODD_NAMES = ("`a b`", "n2", "id", "__ost_x", '"q"', "n", "n")
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
    odd = ("", "db.t", f"(SELECT * FROM t MATCH_RECOGNIZE ({clause(rng)}))")
    source = f.one(odd if f.chance(f.odd) else ("t", "t AS u", "t", "(SELECT * FROM t)"))
    alias = f.one((" m", " AS m (a, b)", " AS", "") if f.chance(f.odd) else (" AS m",))
    table = f"{source} MATCH_RECOGNIZE ({clause(rng)}){alias}"
    items = f.one(("m.*", "n + 1 AS z, m.n", "*") if f.chance(0.7) else (f.expression(), "DISTINCT n", ""))
    text = f"SELECT {items} FROM {'' if f.chance(f.odd / 4) else table}"
    if f.chance(0.1):
        text += f" {f.one(('WHERE', 'GROUP BY', 'ORDER BY', 'LIMIT', 'JOIN', 'UNION ALL'))} {f.expression(1)}"
    if f.chance(0.15):
        outer = f.one(("", f"MATCH_RECOGNIZE ({clause(rng)})"))
        text = f"WITH {f.one(('', 'RECURSIVE '))}c AS ({text}) SELECT * FROM c {outer}"
    if f.chance(0.05):
        text = f"WITH RECURSIVE c AS (SELECT * FROM t UNION ALL SELECT * FROM c MATCH_RECOGNIZE ({clause(rng)})) {text}"
    return text


_AGGREGATES = ("COUNT(*)", "COUNT(*)", "SUM(b.x)", "AVG(b.i)", "MIN(a.id)", "COUNT(b)", "SUM(b.i)", "MAX(v.d)")


def event_query(rng: Random) -> str:
    """An event query; its types are a, b and c in column k."""
    f = Fragments(rng)

    def event() -> str:
        odd = ("z", "NOT c", "c* w", f"b{{{f.literal()}}} w", "a+ v WITHOUT b+", "a WITHOUT c")
        usual = ("a v", "b w", "b+ w", "a+ v", "c?", "c", "b", "a", "b{2,3} w", "a{2} v", "b+ w WITHOUT c u")
        return f.one(odd if f.chance(0.1) else usual)

    def pattern(depth: int) -> str:
        if depth == 0 or f.chance(0.4):
            return event()
        inner = f.several(lambda: pattern(depth - 1), 3)
        return f.one((f"SEQ({inner})", f"SEQ({inner})", f"({pattern(depth - 1)} OR {pattern(depth - 1)})",
                      f"({pattern(depth - 1)}){f.one(('+', '*', '?', '{2}'))}",
                      f"{event()} AND {event()}"))  # fmt: skip

    def condition() -> str:
        variable = f.one(("v", "w", "v", "a", "LAST(w)", "FIRST(v)", "v[i]") if f.chance(0.3) else ("v", "w"))
        column = f.column("number")
        other = f.one((f.number_literal(), f"{variable}.i", f"NEXT({variable}).{column}", f.expression(1, "number")))
        compared = f"{variable}.{column} {f.one(('<', '=', '>='))} {other}"
        return compared if f.chance(0.8) else f.one((f"SAME[{f.one(('b', 'i', 'k'))}]", f.expression(2)))

    words = [f"PATTERN SEQ({f.several(lambda: pattern(2), 3)})" if f.chance(0.7) else f"PATTERN {pattern(3)}"]
    if f.chance(0.2):
        words.append(
            f.one(("STRICT", "STRICT ON (a, b)", "STRICT ON (z)", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH"))
        )
    if f.chance(0.5):
        words.append(f"WHERE {f.several(condition, 2, ' AND ')}")
    if f.chance(0.3):
        words.append(f"GROUP BY {f.several(lambda: f.column(f.one(('number', 'text'))), 2)}")
    if f.chance(0.6):
        odd = (f"{f.literal()} SECONDS", f.literal(), f"5 SLIDE {f.literal()}", "1 HOUR SLIDE 2 EVENTS")
        usual = ("5", "3", "10 EVENTS", "4 SLIDE 2", "3 TUMBLE", "3 EVENTS SLIDE 2 EVENTS")
        words.append(f"WITHIN {f.one(odd if f.chance(f.odd) else usual)}")
    returned = f.several(
        lambda: f.one(
            (
                "COUNT(*)",
                "SUM(v.x)",
                "AVG(b.i)",
                "MIN(w.id)",
                "COUNT(v)",
                "k",
                "WINDOW_START",
                f.expression(1),
                "SUM(v.x) / COUNT(*)",
                f"COUNT(*) * {f.number_literal()}",
                "-MAX(v.d) + 1",
            )
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
        odd = (f"{{{f.literal()}}}", f"{{1,{f.literal()}}}", "{}", "{2,1}")
        times = f.one(odd if f.chance(f.odd) else ("*", "+", "?", "{2}", "{1,}", "{,3}", "{1,3}"))
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
        if f.chance(0.5):
            live = live.replace("B AS x < PREV(x)", f"B AS {f.expression(2, 'truth')}")
        if f.chance(0.5):
            archive = archive.replace("LAST(x) AS top", f"{f.expression(2)} AS top")
    else:
        live, archive = clause(rng), clause(rng)
    odd = ("INTERVAL '5' SECOND", f.literal(), f"{f.literal()} ROWS", f.expression(1))
    distance = f.one(odd if f.chance(f.odd) else ("4", "3 ROWS"))
    also = f" AND {f.one(('live.low > 0', 'archive.top IS NOT NULL', f.expression(1)))}" if f.chance(0.2) else ""
    items = f.one(("*", "live.low, archive.top", "correlation_start", f.expression(1) if f.chance(f.odd) else "live.*"))
    joined = f"{f.one(('JOIN', 'CROSS JOIN', ','))} t MATCH_RECOGNIZE ({archive}) AS archive"
    recent = f"{f.one(('ON', 'ON', 'WHERE'))} RECENT(archive, live, {distance}){also}"
    return f"SELECT {items} FROM t MATCH_RECOGNIZE ({live}) AS live {joined} {recent}"
