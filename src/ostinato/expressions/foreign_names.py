"""Functions, types and words of other engines -> what to write in Spark SQL. Only error messages use these tables.

A function that Spark knows, or that a session registered, runs under its name, whatever stands here.
"""

from __future__ import annotations

_CLOCK = "results must not depend on the clock: compare with a column, or compute it into a column before matching"
_MATCH_WORDS = {
    "match_number": "write MATCH_NUMBER()",
    "match_sequence_number": "write MATCH_SEQUENCE_NUMBER()",
    "match_rowtime": "write MATCH_ROWTIME()",
    "classifier": "write CLASSIFIER()",
}

_FUNCTIONS = {
    # Oracle
    "lnnvl": "write NOT coalesce(condition, false)",
    "bitand": "write a & b",
    "bitor": "write a | b",
    "bitxor": "write a ^ b",
    "decode": "write CASE x WHEN a THEN b ELSE c END",
    "numtodsinterval": "write n * INTERVAL '1' MINUTE",
    "numtoyminterval": "write add_months(d, n) for d and n months",
    "to_dsinterval": "write CAST(x AS INTERVAL DAY TO SECOND)",
    "to_yminterval": "write CAST(x AS INTERVAL YEAR TO MONTH)",
    "to_char": "write CAST(x AS STRING), or on Spark date_format(t, 'yyyy-MM') for times",
    "to_clob": "write CAST(x AS STRING)",
    "to_binary_double": "write CAST(x AS DOUBLE)",
    "wm_concat": "write listagg(x, ',')",
    "stats_mode": "count the values in a query over the clause's output",
    "to_single_byte": "leave it out: texts are UTF-8",
    "remainder": "write mod(a, b)",
    "ora_hash": "write hash(x) on Spark",
    "standard_hash": "write sha2(x, 256) on Spark",
    "nls_upper": "write upper(x)",
    "nls_lower": "write lower(x)",
    # Trino
    "row": "write struct(a, b)",
    "arbitrary": "write any_value(x)",
    "approx_distinct": "write count(DISTINCT x)",
    "try": "write try_cast(x AS type), or nullif(x, 0) for a divisor",
    "format_datetime": "write date_format(t, 'yyyy-MM') on Spark",
    "date_parse": "write to_timestamp(x, 'yyyy-MM-dd') on Spark",
    "parse_datetime": "write to_timestamp(x, 'yyyy-MM-dd') on Spark",
    "from_iso8601_timestamp": "write to_timestamp(x)",
    "from_iso8601_date": "write to_date(x)",
    "to_unixtime": "write unix_timestamp(t)",
    "to_milliseconds": "write unix_millis(b) - unix_millis(a) for the time between two timestamps",
    "json_extract_scalar": "write get_json_object(x, '$.field') on Spark",
    "json_extract": "write get_json_object(x, '$.field') on Spark",
    "json_value": "write get_json_object(x, '$.field') on Spark",
    "json_query": "write get_json_object(x, '$.field') on Spark",
    "strpos": "write instr(text, part)",
    "day_of_week": "write weekday(d) + 1",
    "dow": "write weekday(d) + 1",
    "day_of_month": "write day(d)",
    "day_of_year": "write dayofyear(d)",
    "week_of_year": "write weekofyear(d)",
    "last_day_of_month": "write last_day(d)",
    "from_unixtime": "write timestamp_seconds(n) for a time",
    "from_unixtime_nanos": "write timestamp_micros(n DIV 1000)",
    "with_timezone": "write from_utc_timestamp(t, 'zone') on Spark",
    "at_timezone": "write from_utc_timestamp(t, 'zone') on Spark",
    "levenshtein_distance": "write levenshtein(a, b) on Spark",
    "format": "write format_string('%s', x) on Spark",
    "nan": "write double('NaN')",
    "infinity": "write double('Infinity')",
    "is_finite": "write abs(x) < double('Infinity')",
    "is_infinite": "write abs(x) = double('Infinity')",
    "to_hex": "write hex(x) on Spark",
    "url_extract_host": "write parse_url(x, 'HOST') on Spark",
    "json_parse": "write parse_json(x) on Spark",
    "codepoint": "write ascii(x)",
    "is_nan": "write isnan(x)",
    "none_match": "write NOT exists(values, x -> condition) on Spark",
    "any_match": "write exists(values, x -> condition) on Spark",
    "all_match": "write forall(values, x -> condition) on Spark",
    "map_agg": "write array_agg(struct(key, value)), and map_from_entries over the clause's output",
    "multimap_agg": "write array_agg(struct(key, value))",
    "histogram": "count the values in a query over the clause's output",
    # Snowflake
    "iff": "write if(condition, a, b)",
    "div0": "write if(b = 0, 0, a / nullif(b, 0))",
    "div0null": "write if(coalesce(b, 0) = 0, 0, a / nullif(b, 0))",
    "zeroifnull": "write coalesce(x, 0)",
    "nullifzero": "write nullif(x, 0)",
    "charindex": "write locate(part, text)",
    "square": "write x * x",
    "booland": "write a AND b",
    "boolor": "write a OR b",
    "boolnot": "write NOT a",
    "boolxor": "write a <> b",
    "booland_agg": "write bool_and(x)",
    "boolor_agg": "write bool_or(x)",
    "arrayagg": "write array_agg(x)",
    "array_construct": "write array(a, b)",
    "array_to_string": "write array_join(values, ',')",
    "array_cat": "write concat(a, b)",
    "object_construct": "write named_struct('name', value)",
    "object_agg": "write array_agg(struct(key, value)), and map_from_entries over the clause's output",
    "get_path": "write get_json_object(x, '$.field') on Spark",
    "as_integer": "write CAST(x AS INT)",
    "to_varchar": "write CAST(x AS STRING)",
    "to_decimal": "write CAST(x AS DECIMAL(10, 2))",
    "to_numeric": "write CAST(x AS DECIMAL(10, 2))",
    "to_number": "write CAST(x AS DECIMAL(10, 2))",
    "to_double": "write CAST(x AS DOUBLE)",
    "to_boolean": "write CAST(x AS BOOLEAN)",
    "to_timestamp_tz": "write to_timestamp(x)",
    "try_to_decimal": "write try_cast(x AS DECIMAL(10, 2))",
    "try_to_double": "write try_cast(x AS DOUBLE)",
    "try_to_boolean": "write try_cast(x AS BOOLEAN)",
    "date_from_parts": "write make_date(year, month, day)",
    "datefromparts": "write make_date(year, month, day)",
    "timestamp_from_parts": "write make_timestamp(year, month, day, hour, minute, second) on Spark",
    "time_slice": "write date_trunc('HOUR', t)",
    "editdistance": "write levenshtein(a, b) on Spark",
    "strtok": "write split(text, ' ')[0]",
    "bitand_agg": "write bit_and(x) in a query over the clause's output",
    # Flink
    "split_index": "write split(text, ',')[n]",
    "truncate": "write floor(x), or round(x, n)",
    "hop": "windows of time belong to a query over the clause's output: window(t, '1 hour') on Spark",
    "tumble": "windows of time belong to a query over the clause's output: window(t, '1 hour') on Spark",
    "match_proctime": _CLOCK,
    "proctime": _CLOCK,
    "current_row_timestamp": _CLOCK,
    # others
    "mode": "count the values in a query over the clause's output",
    "approx_count_distinct": "write count(DISTINCT x)",
    "group_concat": "write listagg(x, ',')",
    "convert": "write CAST(x AS type)",
    "try_convert": "write try_cast(x AS type)",
    "safe_cast": "write try_cast(x AS type)",
    "safe_divide": "write a / nullif(b, 0)",
    "getdate": _CLOCK,
    "sysdate": _CLOCK,
    "systimestamp": _CLOCK,
}

_WORDS = {
    **_MATCH_WORDS,
    **dict.fromkeys(("sysdate", "systimestamp", "getdate", "proctime"), _CLOCK),
    "rownum": "write count(*): the rows of the match so far",
    "array": "write array(1, 2)",
}
"""Words that other engines read as calls without parentheses, or that begin a form of theirs."""

_OTHER_ARGUMENTS = {
    "trunc": "trunc takes a date and a unit, trunc(d, 'MONTH'); write CAST(t AS DATE) for the day of a time, "
    "or floor(x) for numbers",
    "isnull": "write coalesce(x, y)",
    "contains": "contains searches a text; write array_contains(values, value)",
    "to_char": "write CAST(x AS STRING), or on Spark date_format(t, 'yyyy-MM') for times",
    "to_date": "write to_date('2024-05-06'); a pattern has Spark's letters, 'yyyy-MM-dd', and needs Spark",
    "to_timestamp": "a pattern has Spark's letters, to_timestamp(x, 'yyyy-MM-dd'), and needs Spark",
}
"""Functions that Spark calls with other arguments."""

_TYPES = {
    "NUMBER": "write DECIMAL(10, 2), BIGINT or DOUBLE",
    "VARCHAR2": "write STRING",
    "TEXT": "write STRING",
    "NVARCHAR2": "write STRING",
    "NVARCHAR": "write STRING",
    "NCHAR": "write STRING",
    "CLOB": "write STRING",
    "VARCHAR": "write STRING, or VARCHAR(10) with a length",
    "CHAR": "write STRING, or CHAR(10) with a length",
    "BINARY_DOUBLE": "write DOUBLE",
    "BINARY_FLOAT": "write FLOAT",
    "FLOAT8": "write DOUBLE",
    "FLOAT4": "write FLOAT",
    "INT2": "write SMALLINT",
    "INT4": "write INT",
    "INT8": "write BIGINT",
    "INT64": "write BIGINT",
    "FLOAT64": "write DOUBLE",
    "BOOL": "write BOOLEAN",
    "DOUBLE PRECISION": "write DOUBLE",
    "VARBINARY": "write BINARY",
    "BYTES": "write BINARY",
    "RAW": "write BINARY",
    "DATETIME": "write TIMESTAMP_NTZ",
    "TIMESTAMP_TZ": "write TIMESTAMP: Spark's times have no zone of their own",
    "TIMESTAMPTZ": "write TIMESTAMP: Spark's times have no zone of their own",
    "TIMESTAMP WITH": "write TIMESTAMP: Spark's times have no zone of their own",
    "TIMESTAMP(": "write TIMESTAMP: Spark's times have microseconds",
    "TIMESTAMP_NTZ(": "write TIMESTAMP_NTZ: Spark's times have microseconds",
    "TIMESTAMP_LTZ(": "write TIMESTAMP_LTZ: Spark's times have microseconds",
    "JSON": "write STRING, and get_json_object on Spark",
    "OBJECT": "write STRUCT<name: type>",
    "ROW": "write STRUCT<name: type>",
    "UUID": "write STRING",
}
"""Type as written by another engine; a type ends with `(` here if only its parameter is unknown to Spark."""


def function_hint(name: str) -> str | None:
    """The hint for a function of another engine: it names the words to write.

    >>> function_hint("IFF")
    'write if(condition, a, b)'
    """
    return _FUNCTIONS.get(name.lower())


def word_hint(name: str) -> str | None:
    """The hint for a word that another engine doesn't read as a column."""
    return _WORDS.get(name.lower())


def arguments_hint(name: str) -> str | None:
    """The hint for a function of Spark's with the arguments of another engine."""
    return _OTHER_ARGUMENTS.get(name.lower())


def type_hint(word: str, following: str) -> str | None:
    """The hint for a type of another engine; None for types of Spark's.

    >>> type_hint("VARCHAR2", "("), type_hint("VARCHAR", "("), type_hint("DOUBLE", "PRECISION")
    ('write STRING', None, 'write DOUBLE')
    """
    with_following = _TYPES.get(f"{word}(" if following == "(" else f"{word} {following}")
    alone = None if following == "(" and word in ("VARCHAR", "CHAR") else _TYPES.get(word)
    return with_following or alone
