"""Every operator and function that the evaluator knows, and the names of functions that only Spark knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic import ARITHMETIC
from ostinato.expressions.functions.arithmetic_time import TIME_OPERATORS
from ostinato.expressions.functions.casts import cast_node
from ostinato.expressions.functions.comparisons import COMPARISONS
from ostinato.expressions.functions.functions_math import MATH
from ostinato.expressions.functions.functions_nested import NESTED, NESTED_OPERATORS
from ostinato.expressions.functions.functions_patterns import LIKE_SEVERAL, PATTERN_OPERATORS, PATTERNS
from ostinato.expressions.functions.functions_text import TEXT
from ostinato.expressions.functions.functions_time import TIME
from ostinato.expressions.functions.functions_units import UNITS
from ostinato.expressions.functions.logic import CONDITIONALS, LOGIC
from ostinato.expressions.nodes import FunctionRule, Site, Typed


def _casting(target: Callable[[Site], pa.DataType]) -> FunctionRule:
    """int(x), double(x), date(x): a cast written as a call."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return cast_node(args[0], target(site), site)

    return FunctionRule(1, 1, plan)


_CASTS = {
    "boolean": t.BOOL, "tinyint": t.INT8, "smallint": t.INT16, "int": t.INT32, "bigint": t.INT64, "float": t.FLOAT,
    "double": t.DOUBLE, "date": t.DATE, "binary": t.BINARY, "decimal": pa.decimal128(10, 0),
}  # fmt: skip

OPERATORS: dict[str, FunctionRule] = {
    **ARITHMETIC, **TIME_OPERATORS, **COMPARISONS, **LOGIC, **PATTERN_OPERATORS, **LIKE_SEVERAL, **NESTED_OPERATORS,
}  # fmt: skip
FUNCTIONS: dict[str, FunctionRule] = {
    **CONDITIONALS, **MATH, **TIME, **UNITS, **TEXT, **PATTERNS, **NESTED,
    **{name: _casting(lambda site, kind=kind: kind) for name, kind in _CASTS.items()},  # type: ignore[misc]
    "timestamp": _casting(lambda site: site.settings.timestamp),
}  # fmt: skip

SPARK_ONLY = frozenset(
    """acosh aes_decrypt aes_encrypt aggregate array_append array_compact array_except array_insert array_intersect
    array_prepend array_remove array_repeat array_sort array_union arrays_overlap arrays_zip asinh atanh base64 bin
    bit_count bit_get bit_length char chr collate collation conv convert_timezone cos cot crc32 csc current_timezone
    current_user date_format date_from_unix_date dayname decode elt encode exists factorial filter find_in_set flatten
    forall format_number format_string from_csv from_json from_unixtime from_utc_timestamp get get_json_object getbit
    hash hex inline inline_outer is_valid_utf8 isnotdistinct java_method json_array_length json_object_keys json_tuple
    levenshtein localtimestamp luhn_check make_dt_interval make_interval make_timestamp make_timestamp_ltz
    make_timestamp_ntz make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays
    map_from_entries map_keys map_values map_zip_with mask md5 months_between monthname next_day
    octet_length parse_json parse_url percentile printf quote raise_error reduce reflect regexp_count
    regexp_extract_all regexp_instr regexp_substr rint schema_of_json sec sentences sequence session_window sha sha1
    sha2 soundex split_part stack str_to_map substring_index to_binary to_char to_csv to_json to_number
    to_utc_timestamp to_varchar transform transform_keys transform_values try_add try_divide try_multiply try_subtract
    try_to_number try_to_timestamp typeof unbase64 unhex unix_date url_decode url_encode user variant_get version
    width_bucket window xpath xxhash64 zip_with zeroifnull nullifzero""".split()
) - set(FUNCTIONS)
"""Functions of Spark that the evaluator doesn't know."""
