"""The rules of `ostinato console --demo`. One has a misspelt column, another is suspended: the page shows why."""

from __future__ import annotations

from pathlib import Path

from ostinato.rule_sets.change_files import write_change

RULES = {
    "climb": """MEASURES FIRST(price) AS low, LAST(price) AS high, count(*) AS trades
PATTERN (START UP{8,} TURN)
DEFINE UP AS price > PREV(price), TURN AS price <= PREV(price)""",
    "dip and back": """MEASURES TOP.price AS top, MIN(FALL.price) AS bottom, LAST(price) AS back
PATTERN (TOP FALL{4,} RISE* BACK) WITHIN INTERVAL '1' MINUTE
DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price),
  BACK AS price > PREV(price) AND price >= TOP.price""",
    "drop after volume": """MEASURES BUSY.volume AS volume, BUSY.price AS before, DROP.price AS after
PATTERN (BUSY CALM{0,8} DROP) WITHIN INTERVAL '30' SECOND
DEFINE BUSY AS volume > 900, CALM AS price >= BUSY.price * 0.995, DROP AS price < BUSY.price * 0.995""",
    "three large trades": """MEASURES sum(LARGE.volume) AS volume, LAST(price) AS price
PATTERN (LARGE{3})
DEFINE LARGE AS volume > 450""",
    "v shape": """MEASURES FIRST(price) AS top, MIN(FALL.price) AS bottom, LAST(price) AS back
PATTERN (TOP FALL{5,} RISE{5,} TURN)
DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price), TURN AS price <= PREV(price)""",
}
_MISSPELT = "MEASURES LAST(price) AS price PATTERN (LOW{4}) DEFINE LOW AS prcie < 50"
_NOISY = "MEASURES LAST(price) AS price PATTERN (UP) DEFINE UP AS price > PREV(price)"


def write_demo_rules(folder: Path) -> None:
    """Writes the change log of the demo."""
    for id, text in {**RULES, "low prices": _MISSPELT, "every rise": _NOISY}.items():
        write_change(folder, id, text, version=None, enabled=True, options=None)
    reason = {"reason": "every second trade matches"}
    write_change(folder, "every rise", "", version=None, enabled=False, options=reason)
