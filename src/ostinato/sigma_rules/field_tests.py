"""A field and a value of a Sigma rule -> the test that an event passes, as an expression of Spark.

Texts match in any case unless the rule says `cased`. A test of a column that is NULL is NULL or FALSE, so it fails.
Columns are quoted and values are literals: nothing of the rule's text is read as SQL.
"""

from __future__ import annotations

from ipaddress import IPv4Network

from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from ostinato.errors import QueryError
from ostinato.expressions.functions.regex import java_regex
from ostinato.expressions.functions.regex_syntax import RegexError
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Literal, Name, Operator, string_literal

_COMPARISONS = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
}
_ANY_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


def not_supported(subject: str, hint: str | None = None) -> QueryError:
    """The error for a part of a Sigma rule that has no translation."""
    return QueryError("SIGMA_NOT_SUPPORTED", f"{subject} can't be translated", hint=hint)


def column(name: str) -> ColumnRef:
    """The column of this name. A dot in a field's name is part of the column's name."""
    return ColumnRef((Name(name, quoted=True),))


def number(value: float) -> Expr:
    """A number as a literal."""
    literal = Literal("number", repr(abs(value)))
    return Operator("neg", (literal,)) if value < 0 else literal


def text(value: str) -> Literal:
    """A text as a literal on one line: control characters are escapes.

    >>> text("it's\\na trap").text
    "'it\\\\'s\\\\u000aa trap'"
    """
    literal = string_literal(value).text
    return Literal("string", "".join(c if c.isprintable() else _escape(c) for c in literal))


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else character


def either(tests: tuple[Expr, ...]) -> Expr:
    """OR over tests, each of them once; IN for tests that one value is equal to several others."""
    compared: dict[tuple[str, Expr], list[Expr]] = {}
    for test in dict.fromkeys(tests):
        match test:
            case Operator(op="=", args=(left, Literal(kind="number") | Call(name="lower") as right)):
                compared.setdefault((type(right).__name__, left), []).append(right)
            case _:
                compared[("", test)] = []
    different = tuple(_is_one_of(left, rights) for (_, left), rights in compared.items())
    return different[0] if len(different) == 1 else Operator("or", different)


def _is_one_of(left: Expr, rights: list[Expr]) -> Expr:
    if not rights:
        return left
    return Operator("=", (left, rights[0])) if len(rights) == 1 else Operator("in", (left, *rights))


def not_true(test: Expr) -> Expr:
    """TRUE where the test is FALSE or NULL: a field that is missing doesn't match, so its negation does."""
    return Operator("not", (Operator("is true", (test,)),))


def field_test(field: str, value: SigmaType) -> Expr:
    """The test that the field of an event matches the value."""
    name = column(field)
    match value:
        case SigmaNull():
            return Operator("is null", (name,))
        case SigmaExists(exists=exists):
            is_null = Operator("is null", (name,))
            return Operator("not", (is_null,)) if exists else is_null
        case SigmaBool(boolean=boolean):
            return Operator("=", (name, Literal("boolean", str(boolean).upper())))
        case SigmaTimestampPart():
            raise not_supported(f"a part of the time in '{field}'", "add a column with this part of the time")
        case SigmaNumber(number=amount):
            return Operator("=", (name, number(amount)))
        case SigmaCompareExpression(number=limit, op=op):
            return _comparison(field, limit, op)
        case SigmaString():
            return _text_test(field, value)
        case SigmaRegularExpression():
            return _regex_test(field, value)
        case SigmaCIDRExpression(network=network):
            if not isinstance(network, IPv4Network):
                raise not_supported(f"the IPv6 network {network}", "only networks of IPv4 are supported")
            return Operator("rlike", (name, text(_network_pattern(network))))
        case SigmaExpansion(values=values):
            return either(tuple(field_test(field, one) for one in values))
    raise not_supported(f"a value of kind {type(value).__name__} in '{field}'")


def _comparison(field: str, limit: SigmaNumber, op: CompareOperators) -> Expr:
    if isinstance(limit, SigmaTimestampPart):
        raise not_supported(f"a part of the time in '{field}'", "add a column with this part of the time")
    if op not in _COMPARISONS:
        return not_true(Operator("=", (column(field), number(limit.number))))
    return Operator(_COMPARISONS[op], (column(field), number(limit.number)))


def _text_test(field: str, value: SigmaString) -> Expr:
    cased = isinstance(value, SigmaCasedString)
    name = column(field)
    if all(isinstance(part, str) for part in value.s):
        plain = text("".join(str(part) for part in value.s))
        if cased:
            return Operator("=", (name, plain))
        return Operator("=", (Call("lower", (name,)), Call("lower", (plain,))))
    pattern = []
    for part in value.s:
        if isinstance(part, str):
            pattern.append(part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_"))
        elif part is SpecialChars.WILDCARD_MULTI:
            pattern.append("%")
        elif part is SpecialChars.WILDCARD_SINGLE:
            pattern.append("_")
        else:
            hint = "replace placeholders by a pipeline of pySigma: read_sigma(..., pipeline=...)"
            raise not_supported(f"a placeholder in the value of '{field}'", hint)
    return Operator("like" if cased else "ilike", (name, text("".join(pattern))))


def _regex_test(field: str, value: SigmaRegularExpression) -> Expr:
    pattern = value.escape(escape_escape_char=False)
    try:
        java_regex(pattern)
    except RegexError as error:
        hint = "rules are evaluated in process; compute the condition as a column of the input"
        raise QueryError(
            "INVALID_REGEX", f"the pattern of '{field}' can't be evaluated in process: {error}", hint=hint
        ) from None
    return Operator("rlike", (column(field), text(pattern)))


def _network_pattern(network: IPv4Network) -> str:
    """The regular expression of the network's addresses.

    >>> _network_pattern(IPv4Network("10.1.2.4/31"))
    '^10[.]1[.]2[.](?:4|5)$'
    """
    first, last = network.network_address.packed, network.broadcast_address.packed
    octets = []
    for low, high in zip(first, last, strict=True):
        if low == high:
            octets.append(str(low))
        elif (low, high) == (0, 255):
            octets.append(_ANY_OCTET)
        else:
            octets.append(f"(?:{'|'.join(map(str, range(low, high + 1)))})")
    return f"^{'[.]'.join(octets)}$"
