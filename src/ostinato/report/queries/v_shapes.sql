SELECT *
FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol
    ORDER BY ts
    MEASURES
        TOP.ts           AS began,
        BACK.ts          AS ended,
        TOP.price        AS top,
        LAST(FALL.price) AS bottom,
        BACK.price       AS back,
        round(100 * (TOP.price - LAST(FALL.price)) / TOP.price, 1) AS fell_percent,
        array_join(array_agg(CLASSIFIER()), ' ') AS labels
    ONE ROW PER MATCH
    AFTER MATCH SKIP TO LAST BACK
    PATTERN (TOP FALL+ RISE+? BACK)
    DEFINE
        FALL AS price < PREV(price),
        RISE AS price > PREV(price),
        BACK AS price > PREV(price) AND BACK.price >= TOP.price
                AND LAST(FALL.price) < 0.99 * TOP.price
)
ORDER BY symbol, began
