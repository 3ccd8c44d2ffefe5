"""Texts that once broke the contract, by language: every run of the tests uses them again."""

from __future__ import annotations


def _measure(expression: str) -> str:
    return f"ORDER BY id MEASURES {expression} AS n PATTERN (A+)"


def _define(condition: str) -> str:
    return f"ORDER BY id MEASURES count(*) AS n PATTERN (A+) DEFINE A AS {condition}"


CORPUS: dict[str, tuple[str, ...]] = {
    "clause": (
        "",
        *(_define(text) for text in ("²", "PREV(x, ²) > 1", f"PREV(x, {'9' * 5000}) > 1", f"x > {'9' * 5000}")),
        *(
            _define(text)
            for text in (" = ".join(["x"] * 3000), "x" + " IS NOT NULL" * 300, "a" + "[0]" * 3000 + " > 1")
        ),
        *(
            _define(text)
            for text in ("x" + "::int" * 3000 + " > 1", "NOT " * 3000 + "b", "(" * 3000 + "b" + ")" * 3000)
        ),
        _define(f"k RLIKE '{'(' * 3000}{')' * 3000}'"),
        _measure(f"CAST(x AS {'array<' * 3000}int{'>' * 3000})"),
        _measure("CAST(x AS decimal(999999999999999999999, 2))"),
        *(
            _measure(text)
            for text in ("round(1.5D, 1000000000)", "repeat('a', 2147483647)", "1e99999999bd", "k LIKE '\\\\'")
        ),
        f"{_measure('1')} MAXLENGTH ²",
        f"{_measure('1')} MAXLENGTH {10**25}",
        "ORDER BY id MEASURES 1 AS `\ud800` PATTERN (A)",
        "ORDER BY id MEASURES 1 AS n PATTERN (A{²})",
        f"ORDER BY id MEASURES 1 AS n PATTERN (A{{{'9' * 5000}}})",
        f"ORDER BY id MEASURES 1 AS n PATTERN ({'(' * 3000}A{')' * 3000})",
    ),
    "statement": ("SELECT * FROM", "FROM", "SELECT-FROM", "WITH c AS (" * 1000 + ")" * 1000, "SELECT '\ud800'"),
    "events": (
        "",
        "PATTERN SEQ(a, b) WITHIN ² SECONDS RETURN COUNT(*)",
        f"PATTERN SEQ(a, b) WITHIN {'9' * 5000} EVENTS RETURN COUNT(*)",
        f"PATTERN SEQ(a, b) RETURN MATCHES LIMIT {10**25}",
        f"PATTERN {'(' * 3000}a{')' * 3000} RETURN COUNT(*)",
        f"PATTERN a{{{'9' * 5000}}} RETURN COUNT(*)",
        "PATTERN ((a{1000}){1000}){1000} RETURN COUNT(*)",
        "PATTERN a+" + " WITHOUT b" * 3000 + " RETURN COUNT(*)",
        "PATTERN a RETURN COUNT(*)" + " + 1" * 3000,
        "PATTERN SEQ(a v, b) WHERE v" + "[0]" * 3000 + ".x > 1 RETURN COUNT(*)",
    ),
    "path": ("", "r{²}", f"r{{{'9' * 5000}}}", "(" * 3000 + "r" + ")" * 3000, "r/" * 500 + "r", "`\ud800`"),
    "summary": ("", "(" * 3000 + "a" + ")" * 3000, "a*" * 3000, "`\ud800`"),
    "correlation": ("", "SELECT", "SELECT * FROM t JOIN t ON RECENT(archive, live, ²)"),
}
