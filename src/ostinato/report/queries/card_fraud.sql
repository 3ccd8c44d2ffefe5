SELECT *
FROM payments MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES
        FIRST(PROBE.ts) AS began,
        HIT.ts          AS ended,
        count(PROBE.*)  AS probes,
        round(sum(PROBE.amount), 2) AS probed,
        HIT.amount      AS taken,
        HIT.merchant    AS merchant,
        array_join(array_agg(CLASSIFIER()), ' ') AS labels
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (PROBE{3,} HIT) WITHIN INTERVAL '10' MINUTE
    DEFINE
        PROBE AS amount < 5,
        HIT   AS HIT.amount > 50 * avg(PROBE.amount)
)
ORDER BY card, began
