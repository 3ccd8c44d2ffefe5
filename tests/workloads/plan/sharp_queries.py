"""Q1 to Q6 of SHARP's Table 2 as event queries, over the columns of `event_texts.py`.

ID is `driver`, v is `x`, and the coordinates are `f` and `n`.
"""

from __future__ import annotations

_REST = "WITHIN 1000 EVENTS RETURN MATCHES"
_ABCD = "SAME[driver] AND a.x < b.x AND b.x + c.x < d.x"
_HAVERSINE = (
    "2 * 6371000 * ASIN(SQRT(POW(SIN((e.f - d.f) / 2), 2) + COS(d.f) * COS(e.f) * POW(SIN((e.n - d.n) / 2), 2)))"
)
_GREAT_CIRCLE = "6371000 * ACOS(SIN(d.f) * SIN(h.f) + COS(d.f) * COS(h.f) * COS(h.n - d.n))"

TABLE_2 = {
    "Q1": f"PATTERN SEQ(A a, B+ b[], C c, D d) WHERE SAME[driver] AND SUM(b[i].x) < c.x {_REST}",
    "Q2": f"PATTERN SEQ(A a, B+ b[], E e, F f) WHERE SAME[driver] AND a.x + SUM(b[i].x) < e.x + f.x {_REST}",
    "Q3": f"PATTERN SEQ(A a, B b, C c, D d, E e, F f, G g) WHERE {_ABCD} AND {_HAVERSINE} <= f.f {_REST}",
    "Q4": f"PATTERN SEQ(A a, B b, C c, D d, H h, I i, J j) WHERE {_ABCD} AND {_GREAT_CIRCLE} <= i.f {_REST}",
    "Q5": f"PATTERN SEQ(A a, B b, NEG(C) c, D d) WHERE SAME[driver] AND a.x < b.x {_REST}",
    "Q6": f"PATTERN SEQ(A a, B b, NEG(C) c, E e) WHERE SAME[driver] {_REST}",
}
