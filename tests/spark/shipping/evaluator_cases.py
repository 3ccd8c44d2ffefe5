"""Columns and expressions on which the evaluator and Spark have to agree."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

NAN, INF = float("nan"), float("inf")


def _ts(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


SCHEMA = pa.schema(
    [
        ("b", pa.bool_()), ("c", pa.bool_()), ("ti", pa.int8()), ("si", pa.int16()), ("i", pa.int32()),
        ("j", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("e", pa.float64()),
        ("p", pa.decimal128(10, 2)), ("q", pa.decimal128(20, 10)), ("w", pa.decimal128(38, 10)), ("s", pa.string()),
        ("u", pa.string()), ("n", pa.string()), ("dt", pa.date32()), ("dx", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")), ("tx", pa.timestamp("us", "UTC")), ("nt", pa.timestamp("us")),
        ("iv", pa.duration("us")), ("arr", pa.list_(pa.int32())), ("txt", pa.list_(pa.string())),
        ("st", pa.struct([("x", pa.int32()), ("Y", pa.string())])), ("m", pa.map_(pa.string(), pa.int32())),
        ("bin", pa.binary()),
    ]
)  # fmt: skip

PLAIN = [
    (True, False, 1, 2, 3, 4, 5, 1.5, 2.5, 0.5, "12.34", "1.5", "7.25", "hello", "World", "12", "2024-02-29",
     "2023-12-31", "2024-02-29T12:34:56.789012", "2024-03-31T02:30:00", "2024-02-29T23:59:59.999999", 90_061_000_001,
     [3, 1, None, 3], ["b", None, "a"], {"x": 1, "Y": "y"}, [("k", 1), ("z", None)], b"\x01\xff"),
    (False, True, -7, 100, -42, 7, 1_000_000, -0.25, -2.5, 3.75, "-0.05", "-1234567.0000000001", "-1.5", "Straße",
     "ÉCOLE", " -7 ", "1969-12-31", "2024-01-01", "1969-12-31T23:59:59.5", "2000-01-01T00:00:00", "1900-01-01T00:00:00",
     -3_600_000_000, [], [], {"x": None, "Y": None}, [], b""),
    (True, True, 5, -3, 10, -5, -9, 3.0, 1234.5678, -1.5, "99.99", "0.3333333333", "1000000", "a_b%c", "a.b.c", "1",
     "2000-01-31", "2000-03-01", "2000-10-29T01:30:00", "2000-10-29T05:00:00", "2000-10-29T01:30:00", 0, [5], ["x",
     "y"], {"x": 9, "Y": "Q"}, [("a", 5)], b"abc"),
    (None,) * 27,
]  # fmt: skip
EXTREME = [
    (True, None, 127, 32767, 2**31 - 1, 0, 2**63 - 1, NAN, NAN, INF, "99999999.99", "9999999999.9999999999",
     "9999999999999999999999999999.9999999999", "", "日本語😀", "0", "9999-12-31", "1582-10-15",
     "9999-12-31T23:59:59.999999", "1970-01-01T00:00:00", "9999-12-31T23:59:59.999999", 10**15, [2**31 - 1], [""], None,
     None, None),
    (None, False, -128, -32768, -(2**31), -1, -(2**63), -INF, -0.0, 0.0, "-99999999.99", "0", "0", "it's", "x\ty\\z",
     "-1", "0001-01-01", "1970-01-01", "1000-06-15T12:00:00", "2024-10-27T01:00:00", "0001-01-01T00:00:00", -(10**15),
     None, None, {"x": 0, "Y": ""}, [("k", 2**31 - 1)], b"\x00"),
    (False, None, 0, 0, 0, 1, 0, INF, INF, NAN, "0", "-0.5", "0.5", " pad ", "ab", "5", "1970-01-01", "1970-01-01",
     "1970-01-01T00:00:00", "1970-01-01T00:00:00", "1970-01-01T00:00:00", 1, [0, -1, 2], ["z"], {"x": 5, "Y": "5"},
     [("k", 0)], b"k"),
    (None, None, None, 1, None, 5, None, 0.1, 1e300, 1e-300, None, "0.1", None, None, "null", None, None, "2024-05-05",
     None, "2024-05-05T00:00:00", None, None, [None], [None], None, [], None),
]  # fmt: skip


EDGE = EXTREME[2:]
"""Zeros, NaN and infinity without the extremes of integers, so that less raises under ANSI."""


def _value(kind: pa.DataType, value: object) -> object:
    if value is None or not isinstance(value, (str, int)) or isinstance(value, bool):
        return value
    if pa.types.is_decimal(kind):
        return Decimal(str(value))
    if pa.types.is_date(kind):
        return date.fromisoformat(str(value))
    if pa.types.is_timestamp(kind):
        return _ts(str(value)) if kind.tz else datetime.fromisoformat(str(value))
    if pa.types.is_duration(kind):
        return timedelta(microseconds=int(value))
    return value


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    """The rows as a table of SCHEMA."""
    columns = []
    for position, field in enumerate(SCHEMA):
        columns.append(pa.array([_value(field.type, row[position]) for row in rows], field.type))
    return pa.Table.from_arrays(columns, schema=SCHEMA)


_COMPARED = ("i", "l", "f", "d", "p", "w", "ti")
COMPARISONS = [
    *(f"{a} {op} {b}" for op in ("=", "<", ">=", "<>", "<=>") for a, b in zip(_COMPARED, (*_COMPARED[1:], "i"),
      strict=True)),
    *(f"d {op} e" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")),
    *(f"f {op} CAST('NaN' AS FLOAT)" for op in ("=", "<", "<=", ">", ">=")),
    *(f"CAST('NaN' AS DOUBLE) {op} d" for op in ("=", "<", "<=", ">", ">=")),
    "s = u", "s < u", "s >= 'hello'", "n = 12", "n < 5L", "n = 12.0", "n > 1.5D", "n = i", "i = '3'", "p = '12.34'",
    "dt = dx", "dt < '2024-01-01'", "dt = ts", "ts > '2000-01-01 00:00:00'", "ts < tx", "nt > ts", "dt <= nt",
    "ts = TIMESTAMP '2024-02-29 12:34:56.789012'", "ts > TIMESTAMP '2024-02-29 12:34:56+02:00'",
    "nt = TIMESTAMP_NTZ '1900-01-01 00:00:00'", "dt = DATE '1969-12-31'", "iv > INTERVAL '1' HOUR",
    "iv = INTERVAL 0 SECOND", "b = c", "b < c", "b = true", "b <=> NULL", "i IS DISTINCT FROM j",
    "d IS NOT DISTINCT FROM e", "i = NULL", "NULL = NULL", "NULL <=> NULL", "i IN (3, 10, NULL)", "i NOT IN (3, 10)",
    "i IN (3, 10)", "i NOT IN (1, NULL)", "d IN (2.5, 1e300)", "s IN ('hello', 'x')", "p IN (12.34, 0)",
    "dt IN (DATE '2024-02-29')", "i IN (3L, 4.5)", "n IN ('1', 'x')", "i BETWEEN 0 AND 10", "d NOT BETWEEN -3 AND 3",
    "d BETWEEN e AND NULL", "p BETWEEN -1 AND 50.5", "s BETWEEN 'a' AND 'z'", "arr = array(5)", "arr < array(4)",
    "st = st", "arr <=> NULL", "(i, j) = (3, 4)", "(i, s) IN ((3, 'hello'), (1, 'x'))", "st.x > 0", "st.y",
    "bin = X'616263'", "bin < X'02'", "p > 12", "p >= 12.340000", "q < p", "w <> q", "w > 1e3",
]  # fmt: skip
LOGIC = [
    *(f"{a} {op} {b}" for op in ("AND", "OR") for a in ("b", "c", "NULL", "TRUE") for b in ("c", "FALSE", "NULL")),
    "NOT b", "NOT NULL", "b IS TRUE", "b IS NOT FALSE", "b IS UNKNOWN", "c IS NOT UNKNOWN", "i IS NULL",
    "d IS NOT NULL", "j <> 0 AND 100 / j > 1", "j = 0 OR 100 / j > 1", "b AND c OR NOT b AND i > 0", "isnull(s)",
    "isnotnull(i)", "isnan(d)", "isnan(f)", "isnan(i)", "CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END",
    "CASE WHEN j <> 0 THEN 10 / j ELSE 0 END", "CASE i WHEN 3 THEN 1 WHEN 10 THEN 2.5 ELSE d END",
    "CASE WHEN b THEN i ELSE l END", "CASE WHEN b THEN p ELSE q END", "CASE WHEN NULL THEN 1 ELSE 2 END",
    "CASE WHEN b THEN NULL ELSE 1 END", "CASE s WHEN 'hello' THEN arr ELSE array(1) END",
    "CASE WHEN c THEN dt ELSE ts END", "CASE WHEN i > 100000 THEN 1 / 0 ELSE 5 END", "if(b, i, d)", "if(b, 'x', s)",
    "IF(j = 0, NULL, 10 / j)", "coalesce(i, j)", "coalesce(NULL, l, 5)", "coalesce(s, u, 'none')", "coalesce(p, 0)",
    "coalesce(i, 1 / j)", "coalesce(NULL, NULL)", "nvl(s, 'z')", "nvl(i, 0L)", "ifnull(d, 0)", "nvl2(i, 'a', 'b')",
    "nullif(i, 3)", "nullif(s, 'hello')", "nullif(d, 2.5)", "greatest(i, j)", "least(i, l, ti)", "greatest(d, e)",
    "least(d, e)", "greatest(s, u)", "greatest(p, q, 1)", "least(dt, dx)", "greatest(NULL, i, NULL)", "nanvl(d, 0.0D)",
    "equal_null(i, j)", "coalesce(n, 1)", "CASE WHEN b THEN n ELSE 1.5D END", "if(b, dt, '2020-01-01')",
]  # fmt: skip
ARITHMETIC = [
    *(f"{a} {op} {b}" for op in "+-*" for a, b in (("i", "j"), ("ti", "ti"), ("si", "ti"), ("l", "i"), ("d", "e"), ("f",
      "d"), ("f", "f"))),
    *(f"{a} {op} {b}" for op in ("+", "-", "*", "/", "%") for a, b in (("p", "p"), ("p", "q"), ("w", "p"), ("p", "3"),
      ("q", "i"), ("w", "w"))),
    *(f"{a} {op} {b}" for op in ("/", "%") for a, b in (("i", "j"), ("l", "j"), ("d", "e"), ("f", "d"), ("i", "2.5"),
      ("10", "j"), ("f", "i"))),
    *(f"{a} div {b}" for a, b in (("i", "j"), ("l", "j"), ("ti", "2"), ("p", "3"), ("p", "q"), ("-7", "2"))),
    "i + 1", "i - 1L", "i * 2.5", "i + 1.5D", "1 - d", "-i", "-l", "-ti", "-p", "-d", "+i", "- -5", "-2147483648",
    "2147483648", "-9223372036854775808", "9223372036854775808", "1.50", "1.5D", "1e3", "2.5F", "10BD", "1Y", "2S",
    "3L", ".5", "5.", "0.05", "1 + NULL", "NULL * i", "i / 2", "7 / 2", "1.0 / 3", "1 / 3.00", "i % 3", "-7 % 3",
    "d % 1", "p % 1", "5 % 0.3", "n + 1", "n * 2.5", "n - i", "'5' + 1", "'2' * 1.5D", "i & 6", "i | j", "i ^ j", "~i",
    "~ti", "ti & si", "i << 2", "l >> 3", "i >>> 1", "l >>> 60", "shiftleft(i, 33)", "shiftright(l, 65)",
    "shiftrightunsigned(i, 4)", "l | ti", "p + q * 2 - 1", "i * i + j", "(p + 1) * (q + 2)", "p * p * p", "w * w * w",
    "w / q", "1 / w", "p / 0.01", "abs(-5)", "abs(i)", "abs(d)", "abs(p)", "abs(ti)", "f / 3", "f + 0.1", "f + 1",
    "f * l",
]  # fmt: skip
MATH = [
    *(f"{name}({arg})" for name in ("round", "bround", "floor", "ceil") for arg in ("d", "f", "i", "p", "q", "l", "2.5",
      "-3.5D")),
    "round(d, 2)", "round(d, -2)", "round(p, 1)", "round(p, -1)", "round(q, 4)", "round(i, -1)", "bround(p, 1)",
    "bround(i, -1)", "bround(d, 1)", "round(f, 1)", "round(1.005D, 2)", "round(2.675D, 2)", "round(-0.5D)",
    "round(w, 3)", "round(w, 12)", "round(ti, -1)", "bround(q, 2)",
    *(f"{name}(d)" for name in ("sqrt", "cbrt", "exp", "ln", "log", "log10", "log2", "log1p", "expm1", "sign", "sin",
      "cos", "tan", "asin", "acos", "atan", "radians", "degrees", "sinh", "tanh")),
    "sqrt(i)", "sqrt(p)", "pow(d, 2)", "pow(i, j)", "power(e, 0.5D)", "log(2, i)", "log(10, d)", "atan2(d, e)",
    "sign(i)", "sign(p)", "signum(f)", "mod(i, 4)", "mod(d, 2)", "pmod(i, 4)", "pmod(i, -4)", "pmod(d, 2.5D)",
    "pmod(p, 3)", "pmod(-7, 3)", "hypot(d, e)", "pi()", "e()", "negative(i)", "positive(d)", "exp(1)", "ln(0)",
    "sqrt(-1)", "pow(2, 10)", "pow(-1, d)", "ceil(p)", "floor(-0.05)", "ceiling(1.5)", "ln(s)",
]  # fmt: skip
CASTS = [
    *(f"CAST({column} AS {kind})" for column in ("b", "ti", "i", "l", "f", "d", "p", "q", "n", "s") for kind in ("INT",
      "TINYINT", "BIGINT", "DOUBLE", "FLOAT", "BOOLEAN", "STRING", "DECIMAL(8,1)")),
    *(f"CAST({column} AS {kind})" for column in ("dt", "ts", "nt") for kind in ("STRING", "DATE", "TIMESTAMP",
      "TIMESTAMP_NTZ")),
    *(f"TRY_CAST({column} AS {kind})" for column in ("s", "n", "d", "l", "w") for kind in ("INT", "DOUBLE",
      "DECIMAL(5,2)", "BOOLEAN", "SMALLINT")),
    *(f"TRY_CAST('{text}' AS {kind})" for text in (" 12 ", "1.9", "-", "1e3", "0x10", "+5", "1d", ".5", "5.", "NaN",
      "Infinity", "-inf", "abc", "", "99999999999", "1_0", "\uff11") for kind in ("INT", "DOUBLE", "DECIMAL(5,1)")),
    *(f"TRY_CAST('{text}' AS DATE)" for text in ("2020", "2020-2", "2020-02-30", "2020-02-29T12", "2020-2-9 x",
      " 2020-01-01 ", "20200101", "2020-1-1x", "-0001-01-01")),
    *(f"TRY_CAST('{text}' AS {kind})" for kind in ("TIMESTAMP", "TIMESTAMP_NTZ") for text in ("2020", "2020-02-03",
      "2020-02-03 4:5:6", "2020-02-03T04:05", "2020-02-03 04", "2020-02-03 04:05:06.1234567", "2020-02-03 04:05:06Z",
      "2020-02-03 04:05:06+01:30", "2020-02-03 04:05:06 Europe/Berlin", "2020-02-03 04:05:06 UTC",
      "2020-02-03 24:00:00", "2020-02-03 04:05:60", "x", "2020-02-03 04:05:06.", "2020-02-03 ",
      "2020-02-03 04:05:06+1")),
    *(f"TRY_CAST('{text}' AS BOOLEAN)" for text in ("t", "TRUE", "yes", "y", "1", "0", "no", "F", "off", " true ", "2",
      "")),
    "CAST(1 AS DECIMAL(3,1))", "CAST(99.95 AS DECIMAL(3,1))", "CAST(12345 AS DECIMAL(3,1))",
    "CAST(0.0000001 AS STRING)", "CAST(1e10 AS STRING)", "CAST(1.0E-5D AS STRING)", "CAST(123456789.0D AS STRING)",
    "CAST(100.5F AS STRING)", "CAST(1e7 AS STRING)", "CAST(0.001D AS STRING)", "CAST(1.1F AS DOUBLE)", "i::string",
    "'5'::int + 1", "d::int", "CAST(ts AS BIGINT)", "CAST(ts AS DOUBLE)", "CAST(i AS TIMESTAMP)",
    "CAST(1.5D AS TIMESTAMP)", "CAST(NULL AS INT)", "CAST(arr AS ARRAY<STRING>)", "CAST(arr AS ARRAY<DOUBLE>)",
    "CAST(s AS BINARY)", "CAST(X'616263' AS STRING)", "CAST(1 AS BOOLEAN)", "string(i)", "int(d)", "double(n)",
    "date(ts)", "CAST(ts AS DECIMAL(20,6))", "CAST('a' AS DATE)", "CAST(128 AS TINYINT)", "CAST(1e20 AS BIGINT)",
    "CAST(4294967297 AS INT)", "CAST(w AS BIGINT)",
]  # fmt: skip
TIME = [
    *(f"{name}({column})" for name in ("year", "month", "day", "quarter", "dayofweek", "weekday", "dayofyear",
      "weekofyear", "dayofmonth", "last_day") for column in ("dt", "ts", "nt")),
    *(f"{name}({column})" for name in ("hour", "minute", "second") for column in ("ts", "nt", "dt")),
    *(f"EXTRACT({unit} FROM ts)" for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DOY", "HOUR", "MINUTE",
      "SECOND", "YEAROFWEEK", "DAYOFWEEK_ISO")),
    *(f"EXTRACT({unit} FROM iv)" for unit in ("DAY", "HOUR", "MINUTE", "SECOND")),
    *(f"date_trunc('{unit}', ts)" for unit in ("YEAR", "quarter", "MONTH", "week", "DAY", "HOUR", "MINUTE", "SECOND",
      "MILLISECOND", "nonsense")),
    "dt + INTERVAL '1' DAY", "dt - INTERVAL '3' DAY", "dt + INTERVAL '1' HOUR", "dt + INTERVAL 1 MONTH",
    "dt - INTERVAL '1-2' YEAR TO MONTH", "dt + 1", "dt - 1", "1 + dt", "dt + INTERVAL 2 WEEKS",
    "ts + INTERVAL '5' MINUTE", "ts - INTERVAL 5 minutes", "ts + INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "ts + INTERVAL 1 day 2 hours", "ts + INTERVAL 1 YEAR", "INTERVAL 90 SECONDS + ts", "nt + INTERVAL '1' MONTH",
    "nt - INTERVAL '10' SECOND", "ts - tx", "tx - ts", "nt - nt", "dt - dx", "dx - dt > INTERVAL 1 DAY", "ts - dt",
    "ts - tx < INTERVAL '5' MINUTE", "ts - nt", "iv + INTERVAL 1 HOUR", "iv - iv", "iv * 2", "iv / 3", "iv * 1.5",
    "-iv", "abs(iv)", "2 * iv", "iv / 0.7D", "INTERVAL '5' MINUTE", "INTERVAL '1 02:03:04' DAY TO SECOND",
    "INTERVAL '10:30' MINUTE TO SECOND", "INTERVAL '-1' HOUR", "INTERVAL -2 hours", "INTERVAL 1.5 SECONDS",
    "INTERVAL 3 MILLISECONDS", "INTERVAL '2 days 3 minutes'", "date_add(dt, 10)", "date_sub(dt, 10)",
    "date_add(dt, ti)", "add_months(dt, 1)", "datediff(dt, dx)", "datediff(ts, dx)", "trunc(dt, 'MM')",
    "trunc(dt, 'year')", "trunc(dt, 'week')", "unix_timestamp(ts)", "unix_millis(ts)", "unix_micros(ts)",
    "unix_seconds(ts)", "to_timestamp(u)", "to_date('2020-02-03')", "to_timestamp('2020-02-03 04:05:06')",
    "timestamp_seconds(i)", "timestamp_millis(1000)", "make_date(2024, 2, 29)", "make_date(2023, 2, 29)",
    "DATE '2020-02-03'", "TIMESTAMP '2020-02-03 04:05:06'", "TIMESTAMP_NTZ '2020-02-03 04:05:06'",
    "TIMESTAMP '2020-02-03 04:05:06 America/New_York'", "dt > ts - INTERVAL 1 DAY", "date_part('year', dt)",
    "hour(nt) + minute(nt)", "dt + (dt - dx)", "ts + (ts - tx)", "dt + i", "iv + NULL", "i + iv",
    "date_trunc('hour', nt)", "dt + NULL", "ts - '2020-01-01'", "dt + 1.5",
]  # fmt: skip
TEXT = [
    "s || u", "s || i", "d || 'x'", "concat(s, '-', u)", "concat(s, NULL)", "concat(i, d)",
    "concat_ws(',', s, NULL, u)", "concat_ws(',', txt, s)", "concat_ws(NULL, s)", "upper(s)", "lower(u)", "upper('ßé')",
    "length(s)", "char_length(u)", "length(bin)", "length(i)",
    *(f"substring(s, {a})" for a in ("2", "0", "-3", "2, 2", "-2, 1", "0, 2", "1, 0", "2, -1", "-10, 7", "i, 2")),
    "substr(u, 2, 3)", "substring(u FROM 2 FOR 2)", "left(s, 2)", "right(s, 2)", "left(s, -1)", "right(s, 0)",
    "trim(s)", "ltrim(s)", "rtrim(s)", "trim('  x ')", "btrim('xxaxx', 'x')", "ltrim('x', 'xxa')", "lpad(s, 8, '*')",
    "rpad(s, 8, 'ab')", "lpad(s, 2, '*')", "rpad(u, 7)", "lpad(s, 6, '')", "replace(s, 'l', 'L')", "replace(s, 'l')",
    "replace(s, '', 'x')", "instr(s, 'l')", "instr(u, '')", "locate('l', s)", "locate('l', s, 4)", "locate('l', s, 0)",
    "position('o' IN s)", "startswith(s, 'he')", "endswith(u, 'd')", "contains(s, 'ß')", "startswith(s, u)",
    "contains(u, NULL)", "split(u, '[.]')", "split(s, '')", "split(u, '[.]', 2)", "split('a,b,', ',')", "repeat(s, 2)",
    "repeat(s, -1)", "reverse(s)", "reverse(u)", "initcap('hello big WORLD')", "ascii(s)", "ascii('€')",
    "translate(s, 'lo', 'L')", "space(3)", "s LIKE 'h%'", "s LIKE '_ello'", "s LIKE '%\\\\_%'",
    "s LIKE 'a!_b!%c' ESCAPE '!'", "u ILIKE 'w%'", "s NOT LIKE '%l%'", "s LIKE NULL", "u LIKE '%😀'", "s LIKE ''",
    "s RLIKE '^h.*o$'", "u RLIKE '[0-9]+'", "s RLIKE 'l{2}'", "regexp_like(s, 'e')", "u ILIKE 'é%'",
    "regexp_extract(s, '(h)(e)', 2)", "regexp_extract(s, '(z)', 1)", "regexp_extract(u, '([a-z])[.]([a-z])')",
    "regexp_replace(s, 'l+', '<$0>')", "regexp_replace(u, '(.)[.]', '$1-')", "regexp_replace(s, '[aeiou]', '')",
    "string(d)", "'it''s'", "'a\\tb\\\\n'", "r'a\\tb'", "'\\u00e9'", "\"dq\"", "s > 'a' AND length(s) < 6", "upper(i)",
    "length(NULL)", "s LIKE 'x\\\\'", "i LIKE '3'", "X'1F'", "X'ABC'",
]  # fmt: skip
NESTED = [
    "array(1, 2, 3)", "array(i, l)", "array(1, NULL)", "array('a', s)", "size(arr)", "cardinality(txt)", "size(m)",
    "array_size(arr)", "element_at(array(1, 2, 3), 2)", "element_at(array(1, 2, 3), -1)", "array(1, 2, 3)[0]",
    "array(i, j)[1]", "element_at(arr, 9)", "arr[0]", "try_element_at(arr, 1)", "try_element_at(arr, 7)",
    "element_at(m, 'k')", "m['k']", "m['nope']", "array_contains(arr, 3)", "array_contains(arr, 7)",
    "array_contains(txt, 'a')", "array_contains(arr, 3L)", "array_join(txt, '-')", "array_join(txt, '-', '?')",
    "array_max(arr)", "array_min(arr)", "array_max(array(d, e))", "slice(arr, 1, 2)", "slice(arr, -1, 1)",
    "slice(arr, 0, 1)", "concat(arr, array(9))", "arr || arr", "sort_array(arr)", "sort_array(arr, false)",
    "sort_array(array(d, e, 1.0D))", "array_distinct(arr)", "array_distinct(array(0.0D, -0.0D))",
    "array_position(arr, 3)", "reverse(arr)", "st.x", "st.Y", "st.x + 1", "array(st)[0].x", "arr[NULL]", "size(NULL)",
    "element_at(arr, 0)", "array(dt, dx)", "array(p, 1)", "array_contains(array(p), 12.34)", "array_join(arr, ',')",
    "arr IS NULL", "struct(i, s)", "(i, s)", "struct(i AS a, s AS `b c`, d)", "struct(i).i", "struct(i AS z).z",
    "struct(st.x, st, i + 1, m['k'], array(st)[0].Y)", "named_struct('a', i, 'B', s)", "array(struct(i, s))",
    "(i, s) IN ((3, 'hello'))", "struct(i, s) = struct(j, u)", "(i, l) < (j, l)", "CAST(struct(i, s) AS STRING)",
]  # fmt: skip
NESTED_TEXT = [
    "CAST(arr AS STRING)", "CAST(txt AS STRING)", "CAST(st AS STRING)", "CAST(m AS STRING)", "TRY_CAST(arr AS STRING)",
    "arr::string", "string(m)", "CAST(array() AS STRING)", "CAST(array(NULL) AS STRING)",
    "CAST(array(arr, NULL) AS STRING)", "CAST(array(st, st) AS STRING)", "CAST(array(m) AS STRING)",
    "CAST((i, s, arr, m, st) AS STRING)", "CAST(array(CAST(s AS BINARY)) AS STRING)",
    *(f"CAST(array({column}, NULL) AS STRING)" for column in ("b", "ti", "i", "l", "f", "d", "p", "q", "w", "s", "dt",
      "ts", "nt")),
    "CAST(array(arr) AS ARRAY<STRING>)", "array_join(CAST(array(arr, array(9)) AS ARRAY<STRING>), ';')",
    "CAST(slice(array(arr, arr), 2, 1) AS STRING)", "length(CAST(st AS STRING))",
]  # fmt: skip
REFUSED = [
    "length(arr)", "lower(m)", "reverse(st)", "array_join(array(arr), ',')", "arr LIKE '[%'", "m || 'a'", "st || m",
    "i = arr", "b + 1", "dt * 2", "NOT i", "i AND b", "s + arr", "arr > 1", "upper(arr)", "length()",
    "no_such_function(i)", "date_add('x')", "i || arr", "m = m", "st.zzz", "i[0]", "greatest(i)", "if(i, 1, 2)",
    "d div e", "~d", "d & 1", "CAST(arr AS INT)", "CAST(ts AS BINARY)", "coalesce(arr, 1)", "ts + ts", "dt + d",
    "ts + 1", "b > 1", "i = dt", "iv = i", "iv > ts", "least(s, i)", "substring(s, 'x')", "p || st", "array(1, arr)",
    "iv / iv", "named_struct('a')", "named_struct(s, 1)", "named_struct(1, 1)", "named_struct(NULL, 1)", "(i AS z)",
]  # fmt: skip
DECLINED = [
    "CAST(iv AS INT)",
    "CAST(iv AS STRING)",
    "CAST(array(iv) AS STRING)",
    "b = 1",
    "TRY_CAST('now' AS DATE)",
    "sha1(s)",
    "transform(arr, x -> x + 1)",
    "map('a', 1)",
    r"'aa' RLIKE '(a)\\1'",
    "'aa' RLIKE 'a(?=a)'",
    "'aa' RLIKE '(?<!b)a'",
    "'aa' RLIKE '(?>a+)'",
    "'aa' RLIKE 'a*+'",
    r"'aa' RLIKE '\\p{L}'",
]
"""Expressions that Spark supports and the evaluator refuses, with an error instead of a wrong value."""
MORE = [
    "TIMESTAMP '2024-03-30 12:00:00' + INTERVAL 1 DAY", "TIMESTAMP '2024-03-30 12:00:00' + INTERVAL 24 HOURS",
    "TIMESTAMP '2024-03-30 02:30:00' + INTERVAL 1 DAY", "TIMESTAMP '2024-10-27 00:30:00Z' + INTERVAL 1 MONTH",
    "TIMESTAMP '2024-10-27 01:30:00Z' - INTERVAL 1 DAY", "TIMESTAMP '2024-11-27 02:30:00' - INTERVAL 1 MONTH",
    "TIMESTAMP '2024-10-28 02:30:00' - INTERVAL 1 DAY",
    "TIMESTAMP '2024-03-31 12:00:00' - TIMESTAMP '2024-03-30 12:00:00'", "ts - INTERVAL '30 05:00:00' DAY TO SECOND",
    "tx + iv", "tx - iv", "nt + iv", "ts + INTERVAL '-1 01:00:00' DAY TO SECOND", "floor(CAST('NaN' AS DOUBLE))",
    "ceil(CAST('Infinity' AS DOUBLE))", "floor(1e300)", "if(NULL, 1, 2)", "CAST(CAST('NaN' AS DOUBLE) AS INT)",
    "CAST(CAST('NaN' AS DOUBLE) AS DECIMAL(5,1))", "nt + INTERVAL '1' DAY", "nt - tx", "nt - dt", "dt - nt",
    "INTERVAL '1' MONTH + dt", "ts + NULL", "NULL - ts", "NULL + dt", "ts > '2020'", "ts > 'x'", "dt = 'x'", "i > 'x'",
    "i > '1.5'", "d > '1.5'", "p > 1.5D", "p > f", "l > d", "l = 9007199254740993.0D", "i = 3.0", "i = 2.9999999999",
    "ti = 1000", "f = 0.1", "f = 0.1F", "f = 0.1D", "d = 0.1", "b = 'true'", "s = true", "n = true",
    "b IN (true, NULL)", "s IN (1, 2)", "n IN (1, 12)", "i IN ('3')", "n BETWEEN 0 AND 15", "i BETWEEN '1' AND '5'",
    "dt BETWEEN '2000-01-01' AND '2024-12-31'", "dt IN ('2024-02-29')", "ts IN ('2024-02-29 12:34:56.789012', dt)",
    "coalesce(dt, ts)", "coalesce(ts, nt)", "coalesce(f, i)", "coalesce(l, f)", "coalesce(p, d)", "coalesce(w, q, l)",
    "coalesce(b, 'x')", "coalesce(s, dt)", "coalesce(n, b)", "CASE WHEN b THEN 1 WHEN c THEN 2L END",
    "CASE WHEN b THEN '1' ELSE i END", "CASE p WHEN 12.34 THEN 'a' WHEN 0 THEN 'b' END", "CASE n WHEN 12 THEN 1 END",
    "greatest(f, i)", "greatest(l, d, p)", "least(ts, dt)", "greatest(arr, array(4))", "nullif(i, '3')",
    "nullif(n, 12)", "nullif(d, i)", "nvl(b, false)", "nvl(arr, array(1L))", "ifnull(p, 1.234)", "nvl2(b, 1, 'x')",
    "i + d * p", "i * p + l", "ti * si", "ti + 1Y", "si - 1S", "f * 2", "f * 2.5", "f - p", "-f", "-(-i)", "i - -1",
    "p * 100", "p / 7", "q / 7L", "q * q", "w + 0.1", "w % 7", "w div 3", "p div q", "7 div 2", "-7 div 2", "7.5 div 2",
    "l div 0", "d / 0", "0 / 0", "p / 0", "p % 0", "i % 0", "0.0D % 0", "1.1 + 2.22", "1.1 * 2.22", "1.1 - 2.22",
    "2.22 / 1.1", "2.22 % 1.1", "99999999999999999999999999999999999999 + 1", "0.1 + 0.2 = 0.3", "0.1D + 0.2D = 0.3D",
    "1e2 = 100", "100 * 1.10", "i * 1.00", "(i + 1) / (j + 100)", "i + n", "n / 2", "n % 5", "-n", "abs(n)", "n div 2",
    "s + 1", "~5", "5 & 3", "NULL & 1", "b AND 'true'", "b OR 1", "NOT 'false'", "b AND NULL IS NULL", "round(2.5)",
    "round(-2.5)", "round(25, -1)", "bround(25, -1)", "bround(2.5)", "bround(3.5D)", "round(NULL)",
    "round(1234.567, 1)", "round(1234.567, -2)", "round(9.99, 1)", "round(1e300, 2)", "round(0.1F + 0.2F, 3)",
    "round(d, i)", "round(n)", "ceil(n)", "floor(2.0)", "ceil(-0.5D)", "sqrt(4)", "sqrt(NULL)", "pow(0, 0)",
    "log(NULL, 2)", "log(0, 2)", "log10(1000)", "log2(8)", "exp(710)", "cbrt(27)", "pmod(7, 0)", "mod(7, 0)",
    "pmod(NULL, 1)", "sign(-2.5)", "abs(NULL)", "abs('-3')", "degrees(pi())", "atan2(0, -1)",
    "date_add('2024-01-31', 1)", "date_add(ts, 1)", "date_sub('2024-01-31', '1')",
    "datediff('2024-03-01', '2024-02-28')", "year('2024-02-29')", "hour('2024-02-29 13:14:15')", "month(NULL)",
    "add_months('2024-01-31', 1)", "last_day('2024-02-10')", "date_trunc('MONTH', dt)",
    "date_trunc('DAY', '2024-02-29 13:00:00')", "second(ts) + 0.5", "EXTRACT(SECOND FROM nt)",
    "EXTRACT(DAY FROM ts - tx)", "EXTRACT(HOUR FROM ts - tx)", "ts - INTERVAL '1' MONTH", "tx + INTERVAL '1' DAY",
    "tx + INTERVAL 24 HOURS", "ts BETWEEN tx AND tx + INTERVAL 1 DAY", "dt - INTERVAL '1' YEAR",
    "dt + INTERVAL '36' HOUR", "INTERVAL 1 DAY > INTERVAL 23 HOURS", "INTERVAL '1' DAY * 2",
    "dt + INTERVAL '1' DAY * 2", "dt + iv", "dt - (dx - dt)", "iv IN (INTERVAL 1 SECOND)",
    "greatest(iv, INTERVAL 1 DAY)", "iv * p", "iv / 0", "unix_timestamp('2024-02-29 00:00:00')", "to_date(ts)",
    "to_date('x')", "to_timestamp('x')", "to_timestamp(dt)", "weekofyear('2021-01-03')", "dayofweek('2021-01-03')",
    "make_date(2024, 13, 1)", "timestamp_micros(l)", "timestamp_seconds(-1)", "s || NULL", "'a' || 1 || true",
    "b || dt", "ts || ''", "concat(dt, ts)", "p || ''", "upper(NULL)", "length(12.50)", "substring('hello', 2, 100)",
    "substring(NULL, 1)", "substring('héllo', 2, 1)", "left('héllo', 2)", "right('héllo', 9)", "lpad('5', 3, '0')",
    "rpad('日', 3, '本語')", "lpad(s, -1, 'x')", "trim('\\t x ')", "replace('aaa', 'aa', 'b')", "instr('日本', '本')",
    "locate('', 'abc')", "locate('b', 'abcb', 3)", "locate(NULL, s)", "split('a1b2', '[0-9]')", "split('', ',')",
    "split('abc', '')", "split('a,b,c', ',', 0)", "split('a,b,c', ',', 1)", "split(NULL, ',')", "repeat('ab', 0)",
    "'abc' LIKE 'a_c'", "'a\\nc' LIKE 'a_c'", "'A' LIKE 'a'", "'A' ILIKE 'a'", "'a%c' LIKE 'a\\%c'",
    "'abc' LIKE 'a\\%c'", "s LIKE u", "'' LIKE '%'", "'ab' RLIKE 'b'", "'AB' RLIKE '(?i)b'",
    "'a1' RLIKE '^[a-z]\\\\d$'", "'日' RLIKE '\\\\w'", "regexp_extract('foo-123', '([a-z]+)-([0-9]+)', 2)",
    "regexp_extract('foo', '([a-z]+)', 5)", "regexp_replace('abc', '(a)(b)', '$2$1')",
    "regexp_replace('a.b', '[.]', '\\\\$')", "regexp_replace('aaa', 'x*', '-')", "startswith('abc', '')",
    "endswith(NULL, 'c')", "contains('ABC', 'b')", "s > u AND u > s", "lower('İI')", "upper('ŉ')", "initcap('a-b c')",
    "translate('abc', 'abc', '1')", "ascii('')", "array(1, 2.5)", "array(1, 'a')", "array(i, NULL, j)",
    "array(array(1), array(2L))", "array(1, 2)[2]", "array(1, 2)[-1]", "array(1,2)[1L]",
    "element_at(array('a','b'), 1)", "size(array(1, NULL))", "array_contains(array(1, NULL), 2)",
    "array_contains(arr, NULL)", "array_contains(array(1.0D), 1)", "array_max(array(1, NULL, 3))",
    "array_min(array('b', 'a'))", "array_max(array(CAST('NaN' AS DOUBLE), 1.0D))", "slice(array(1,2,3), 2, 5)",
    "slice(array(1,2,3), -5, 2)", "slice(arr, 1, -1)", "concat(array(1), array(2.5))", "concat(arr, NULL)",
    "sort_array(array('b', NULL, 'a'))", "sort_array(array('b', NULL, 'a'), false)",
    "array_distinct(array(1, NULL, 1, NULL))", "array_join(array('a', NULL, 'b'), ',')", "array(i, j) = array(3, 4)",
    "array(p)[0] + 1", "st IS NULL", "st = (1, 'y')", "element_at(m, 'zz')", "m['z']", "size(m) > 0",
    "array_position(array(1, 1), 1)", "array_contains(txt, 5)", "array(ts, dt)", "reverse(array('a', 'b'))",
    "array(b, NULL)[0]",
]  # fmt: skip
DIGITS = [
    *(f"CAST('{text}' AS {kind})" for text in ("१२", "\U0001d7d9") for kind in ("INT", "DOUBLE", "DECIMAL(9,2)")),
    *(f"TRY_CAST('{text}' AS {kind})" for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ") for text in ("२०२४-01-01",
      "2024-01-1१", "2024-01-01 00:00:0१", "2024-01-01 00:00:00+०१:00", "2024-01-01 00:00:00 GMT+१")),
    "TRY_CAST('²' AS INT)", "TRY_CAST('१e१' AS DOUBLE)", "CAST('१e१' AS DECIMAL(9,2))", "p > '१'", "INTERVAL '१' DAY",
    "INTERVAL १ DAY", "INTERVAL '१ 00:00:00' DAY TO SECOND", "INTERVAL '१-1' YEAR TO MONTH", "DATE '२०२४-01-01'",
    "१ + 1", "1२ + 1", "1.२ + 1", "1e२ + 1", "² + 1", "CAST('१' AS DECIMAL(5,१))", "'१' RLIKE '\\\\d'",
    f"TRY_CAST('{'9' * 5000}' AS BIGINT)", f"CAST('{'0' * 5000}1' AS BIGINT)",
]  # fmt: skip
"""Digits of other scripts: Spark takes them for decimals, and for nothing else. And very many digits."""
EDGES = [
    *(f"pmod({a}, {b})" for a in ("i", "l", "p", "q", "-7", "-7.5D", "CAST(5 AS decimal(3,0))", "w")
      for b in ("CAST(1 AS decimal(38,18))", "CAST(-0.3 AS decimal(38,37))", "1234567.89", "-0.07", "-3")),
    "pmod(ti, si)", "pmod(l, i)", "pmod(-5, 1234567.89)", "pmod(i, CAST(0 AS decimal(38,18)))",
    *(f"{cast}({value} AS {kind})" for cast in ("CAST", "TRY_CAST") for value, kind in (
        ("9.223372036854775807E18D", "bigint"), ("9.3E18D", "bigint"), ("-9.223372036854775808E18D", "bigint"),
        ("-9.3E18D", "bigint"), ("CAST(9.223372036854775807E18 AS float)", "bigint"), ("2147483647.9D", "int"),
        ("2147483648D", "int"), ("CAST(2147483647 AS float)", "int"), ("-2147483648.9D", "int"),
        ("32767.9D", "smallint"), ("128F", "tinyint"))),
    *(f"initcap('{text}')" for text in ("ßabc", "ßab ß", "ŉx ﬀi ǆx", "ΣΑΣ ΑΣ", "İI", "ὖx ᾳx", "a-b c", "éCOLE ñ")),
]  # fmt: skip
"""Remainders of decimals, the ends of whole numbers, letters that become several."""
PATTERNS = [
    *(f"'{text}' RLIKE '{pattern}'" for text, pattern in (
        (r"a\rb", "a.b"), (r"ab\n", "b$"), (r"ab\r\n", "b$"), (r"ab\n\n", "b$"), (r"a\nb", "(?m)^b$"),
        (r"a\r\nb", "(?m)a$"), ("abC", "a(?i)bc"), ("abC", "a(?i:b)c"), ("É", "(?i)é"), ("a-b", r"[a\\-z]-"),
        ("x]y}", "x]y}"), ("a", "a**"), ("a", "a{,2}"), ("a", "a{2,1}"), ("a", "[]"), ("a", ")"), ("a", "*a"),
        ("a.b", r"\\Qa.b\\E"), ("a", r"\\x61\\u0061"), ("é", r"\\w"), ("a", r"\\y"), ("ab", "^(?:a|b)+$"),
        ("ab", r"\\bab\\b"), ("", "^$"))),
    "regexp_extract('ab', '(x)?(a)', 1)", "regexp_extract('aXbX', '(.*?)X', 1)", "regexp_extract('aaa', '(a|aa)+', 1)",
    "regexp_extract('abc', '(?<n>b)', 1)", "regexp_replace('abc', '(a)', '$10')", "regexp_replace('abc', 'a', '$1')",
    "regexp_replace('abc', 'a', '$x')", "regexp_replace('abc', '(a)', '$१')", "regexp_replace('abc', 'x', '$1')",
    "regexp_replace('baac', 'a*', '-')", "regexp_replace('aXa', '|a', '-')", "regexp_replace('a', '(b)?a', '<$1>')",
    "split('abc', 'x*')", "split('a1b22c', '[0-9]+')", "split(',a,,b,,', ',')",
    "'abcabd' LIKE '%abc'", "'aXbYcZ' LIKE 'a%_c_'", "'a' LIKE '_%_'", "'a' LIKE 'a%a'", r"'a\nb' LIKE 'a%b'",
    "'ÀB' ILIKE 'àb'", "'\u017f' ILIKE 's'", "'a%b' LIKE 'a/%b' ESCAPE '/'",
]  # fmt: skip
MANY = [
    *(f"{value} IN ({', '.join(map(str, range(-9, 9)))}, {more})" for value, more in (
        ("i", "20"), ("i", "NULL"), ("d", "CAST('NaN' AS DOUBLE)"), ("e", "0.0D"), ("p", "12.34"), ("l", "j"))),
    f"s IN ({', '.join(repr(char) for char in 'abcdefghijklmnopqr')}, 'hello', u)",
    "round(5e-324D, 324)", "round(1.7976931348623157E308D, 324)", "round(1.5F, 400)",
]  # fmt: skip
"""More values than IN compares one by one; more places than a number has."""
KEYWORD_FORMS = [
    *(f"'a' {word} {quantifier} ({patterns})" for word in ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
      for quantifier in ("ANY", "ALL") for patterns in ("'b', 'A'", "'a', 'a%'", "'a', NULL", "'b', NULL")),
    "s LIKE ANY ('h%', '%pad%')", "s LIKE ALL ('%l%', u)", "u NOT LIKE ALL ('%.%', s, NULL)", "s LIKE SOME (u)",
    "i LIKE ANY ('3', '1_')", "s LIKE ANY ('h%', 'x!')", "NULL LIKE ANY ('a')",
    "u LIKE ALL ('%\\\\%', 'x%')", "s LIKE ANY ('h%', u)", "arr LIKE ANY ('a')",
    "overlay(s PLACING '_' FROM 2)", "overlay(s PLACING u FROM 2 FOR 3)", "overlay(s PLACING 'ab' FROM -2 FOR 1)",
    "overlay(s PLACING 'ab' FROM 0)", "overlay(u, 'ab', 3, -1)", "overlay(s PLACING 'ab' FROM i)",
    "overlay(bin PLACING X'41' FROM 1)", "overlay(12345 PLACING 9 FROM 2)", "overlay(s, bin, 1)",
    "overlay(s PLACING NULL FROM 2)", "overlay(s PLACING 'x' FROM 2L)", "overlay(s, 'x')",
    "trim(BOTH 'h' FROM s)", "trim(LEADING 'h' FROM s)", "trim(TRAILING u FROM s)", "trim(BOTH FROM s)",
    "trim('ho' FROM s)", "trim('ho', s)", "trim(TRAILING FROM ' x ')",
    "'a' 'b'", "'a' \"b\" r'\\n' 'it''s'", "s = 'hel' 'lo'", "s IN ('hel' 'lo', 'x')",
]  # fmt: skip
"""Calls with keywords between their arguments, LIKE with several patterns, strings in a row."""
UNITS = [
    *(f"timestampdiff({unit}, {a}, {b})" for unit in ("YEAR", "QUARTER", "month", "WEEK", "DAY", "HOUR", "MINUTE",
      "SECOND", "MILLISECOND", "MICROSECOND") for a, b in (("ts", "tx"), ("tx", "ts"), ("dt", "dx"), ("dt", "ts"))),
    *(f"timestampadd({unit}, {n}, {moment})" for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR",
      "HOUR", "minute", "SECOND", "MILLISECOND", "MICROSECOND")
      for n, moment in (("1", "tx"), ("-25", "TIMESTAMP '2024-04-01 02:30:00'"), ("-3", "nt"))),
    "timestampdiff(MONTH, TIMESTAMP '2024-01-31 12:00:00', TIMESTAMP '2024-02-29 12:00:00')",
    "timestampdiff(MONTH, TIMESTAMP '2024-01-31 12:00:00', TIMESTAMP '2024-03-31 11:59:59')",
    "timestampdiff(MONTH, TIMESTAMP '2024-03-31 11:59:59', TIMESTAMP '2024-01-31 12:00:00')",
    "timestampdiff(HOUR, TIMESTAMP '2024-03-30 12:00:00', TIMESTAMP '2024-03-31 12:00:00')",
    "timestampdiff(DAYOFYEAR, ts, tx)", "timestampdiff(MINUTE, nt, nt)", "timestampdiff(MINUTE, '2024-01-01', dx)",
    "timestampdiff('MINUTE', ts, tx)", "timestampdiff(CENTURY, ts, tx)", "timestampdiff(MINUTE, i, tx)",
    "timestampdiff(DAY, NULL, tx)", "datediff(DAY, dt, dx)", "date_diff(HOUR, dx, dt)", "timediff(SECOND, tx, ts)",
    "datediff(dx, dt)", "timediff(tx, ts)", "dateadd(DAY, 1, dx)", "date_add(HOUR, i, dx)", "date_add(dx, 3)",
    "dateadd(MINUTE, 1.9, dx)", "dateadd(MINUTE, '3', dx)", "dateadd(MINUTE, NULL, dx)", "dateadd(DAY, 1)",
    "timestampadd(DAY, 1, '2024-03-30 02:30:00')", "timestampadd(YEAR, 300000000, tx)", "timestampadd(DAY, b, tx)",
    "timestampadd(HOUR, 30000000000000000, tx)",
]  # fmt: skip
"""Functions that begin with a unit of time."""
CASES = [
    *UNITS,
    *KEYWORD_FORMS,
    *COMPARISONS,
    *LOGIC,
    *ARITHMETIC,
    *MATH,
    *CASTS,
    *TIME,
    *TEXT,
    *NESTED,
    *NESTED_TEXT,
    *REFUSED,
    *MORE,
    *DIGITS,
    *EDGES,
    *PATTERNS,
    *MANY,
]
