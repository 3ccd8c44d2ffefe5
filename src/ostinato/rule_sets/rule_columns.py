"""The output columns of rules. They are fixed when the stream starts, whatever rules come."""

from __future__ import annotations

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.rule_sets.declaration import Declaration

KIND, RULE, VERSION, MATCH_ID = "kind", "rule", "version", "match_id"
BEGAN, ENDED, DECIDED, MEASURES, MESSAGE = "began", "ended", "decided", "measures", "message"
MATCH, SUPPRESSED, UNMATCHED, LATE, ERROR = "match", "suppressed", "unmatched", "late", "error"
"""Kinds of rows. The others are those of `Report`."""
OWN_COLUMNS = (KIND, RULE, VERSION, MATCH_ID, BEGAN, ENDED, DECIDED, MEASURES, MESSAGE)


def output_schema(declared: Declaration) -> pa.Schema:
    """The columns of output rows. Raises DUPLICATE_COLUMN for a key with the name of one of ours."""
    for name in declared.keys:
        if name.lower() in OWN_COLUMNS:
            raise QueryError(
                "DUPLICATE_COLUMN",
                f"the output of rules has a column '{name.lower()}', so no key can have that name",
                hint=f'stream.withColumnRenamed("{name}", "{name}_key")',
            )
    time = declared.schema.field(declared.time[0]).type
    return pa.schema(
        [
            pa.field(KIND, pa.string()),
            pa.field(RULE, pa.string()),
            pa.field(VERSION, pa.int64()),
            pa.field(MATCH_ID, pa.string()),
            *(declared.schema.field(name) for name in declared.keys),
            pa.field(BEGAN, time),
            pa.field(ENDED, time),
            pa.field(DECIDED, pa.timestamp("us", "UTC")),
            pa.field(MEASURES, pa.string()),
            pa.field(MESSAGE, pa.string()),
        ]
    )
