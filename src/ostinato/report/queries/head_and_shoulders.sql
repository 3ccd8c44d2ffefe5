SELECT *
FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol
    ORDER BY ts
    MEASURES
        A.ts    AS began,
        M.ts    AS ended,
        C.price AS left_shoulder,
        G.price AS head,
        K.price AS right_shoulder,
        (E.price + I.price) / 2 AS neckline,
        M.price AS reversal,
        array_join(array_agg(CLASSIFIER()), ' ') AS labels
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B* C D* E F* G H* I J* K L* M) MAXLENGTH 100
    DEFINE
        B AS price >= PREV(price),
        C AS price >  PREV(price),
        D AS price <= PREV(price),
        E AS price <  PREV(price) AND E.price > A.price,
        F AS price >= PREV(price),
        G AS price >= PREV(price) AND G.price > C.price,
        H AS price <= PREV(price),
        I AS price <  PREV(price) AND I.price > A.price,
        J AS price >= PREV(price),
        K AS price >  PREV(price) AND K.price < G.price,
        L AS price <= PREV(price),
        M AS price <= PREV(price) AND M.price < E.price AND M.price < I.price
)
ORDER BY symbol, began
