"""Typed query -> text: SQL that reads back as the same query, and expressions as Spark takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Call,
    Case,
    Cast,
    Column,
    ColumnRef,
    Expr,
    Extract,
    Field,
    Lambda,
    Literal,
    MatchNumber,
    Name,
    Navigation,
    Operator,
    Parameter,
    RowClassifier,
    Star,
    Subscript,
)
from ostinato.query.match_recognize import MatchMode, MatchRecognize, SkipKind, SortKey
from ostinato.query.pattern import (
    Alternation,
    Concat,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Pattern,
    Permute,
    Quantified,
    Variable,
)

_PREFIX = {"neg": "- ", "pos": "+ ", "~": "~ ", "not": "NOT "}
_POSTFIX = {"is null", "is true", "is false", "is unknown"}


def quote(name: str) -> str:
    """A column's name that Spark reads back exactly."""
    return "`" + name.replace("`", "``") + "`"


def render_expression(expr: Expr, leaf: Callable[[Expr], str | None] = lambda expr: None) -> str:
    """The expression as Spark SQL, with every operator in parentheses. `leaf` may give the text of any node."""
    text = leaf(expr)
    if text is not None:
        return text

    def inner(part: Expr) -> str:
        return render_expression(part, leaf)

    match expr:
        case Literal(text=raw):
            return raw
        case ColumnRef(parts):
            return ".".join(_name(part) for part in parts)
        case Column(name=name):
            return quote(name)
        case Parameter(name=name):
            return _name(name)
        case Star(qualifier):
            return "*" if qualifier is None else f"{_name(qualifier)}.*"
        case Call(name, args, distinct, semantics):
            inside = ("DISTINCT " if distinct else "") + ", ".join(inner(arg) for arg in args)
            return f"{semantics.upper() + ' ' if semantics else ''}{name}({inside})"
        case Operator(op, args):
            return _operator(op, [inner(arg) for arg in args])
        case Case():
            return _case(expr, inner)
        case Cast(value, type_text, attempt):
            return f"{'TRY_CAST' if attempt else 'CAST'}({inner(value)} AS {type_text})"
        case Extract(unit, source):
            return f"EXTRACT({unit} FROM {inner(source)})"
        case Subscript(base, index):
            return f"{inner(base)}[{inner(index)}]"
        case Field(base, name):
            return f"{inner(base)}.{_name(name)}"
        case Lambda(parameters, body):
            names = ", ".join(_name(name) for name in parameters)
            return f"{names if len(parameters) == 1 else f'({names})'} -> {inner(body)}"
        case MatchNumber():
            return "MATCH_NUMBER()"
        case RowClassifier():
            return "CLASSIFIER()"
        case Navigation():
            return _navigation(expr, leaf)
        case Aggregate():
            return _aggregate(expr, leaf)


def _operator(op: str, args: list[str]) -> str:
    if op in _PREFIX:
        return f"({_PREFIX[op]}{args[0]})"
    if op in _POSTFIX:
        return f"({args[0]} {op.upper()})"
    if op == "in":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    if op == "between":
        return f"({args[0]} BETWEEN {args[1]} AND {args[2]})"
    if op in ("like", "ilike", "rlike") and len(args) == 3:
        return f"({args[0]} {op.upper()} {args[1]} ESCAPE {args[2]})"
    word = op.upper()
    return "(" + f" {word} ".join(args) + ")"


def _case(expr: Case, inner: Callable[[Expr], str]) -> str:
    words = ["CASE"]
    if expr.operand is not None:
        words.append(inner(expr.operand))
    for condition, value in expr.branches:
        words += ["WHEN", inner(condition), "THEN", inner(value)]
    if expr.default is not None:
        words += ["ELSE", inner(expr.default)]
    return " ".join([*words, "END"])


def _navigation(expr: Navigation, leaf: Callable[[Expr], str | None]) -> str:
    """A bound navigation, for people: `PREV(LAST(A.price, 2), 1)`."""
    rows = variable_set(expr.rows)

    def qualified(node: Expr) -> str | None:
        if isinstance(node, Column):
            return f"{rows}.{node.name}" if rows else node.name
        if isinstance(node, RowClassifier):
            return f"CLASSIFIER({rows})"
        return leaf(node)

    inside = render_expression(expr.operand, qualified)
    bare = expr.anchor is Anchor.LAST and expr.skip == 0 and not expr.final
    if not bare:
        offset = f", {expr.skip}" if expr.skip else ""
        inside = f"{'FINAL ' if expr.final else ''}{expr.anchor.value.upper()}({inside}{offset})"
    if expr.shift:
        offset = f", {abs(expr.shift)}" if abs(expr.shift) != 1 else ""
        return f"{'PREV' if expr.shift < 0 else 'NEXT'}({inside}{offset})"
    return inside


def _aggregate(expr: Aggregate, leaf: Callable[[Expr], str | None]) -> str:
    rows = variable_set(expr.rows)

    def qualified(node: Expr) -> str | None:
        return f"{rows}.{node.name}" if rows and isinstance(node, Column) else leaf(node)

    inside = ", ".join(render_expression(arg, qualified) for arg in expr.args) or (f"{rows}.*" if rows else "*")
    return f"{'FINAL ' if expr.final else ''}{expr.name}({'DISTINCT ' if expr.distinct else ''}{inside})"


def variable_set(rows: frozenset[str] | None) -> str:
    if rows is None:
        return ""
    return next(iter(rows)) if len(rows) == 1 else "{" + ",".join(sorted(rows)) + "}"


def _name(name: Name) -> str:
    return quote(name.text) if name.quoted else name.text


# --- patterns and clauses ---


def render_pattern(pattern: Pattern) -> str:
    """The pattern as it is written.

    >>> from ostinato.language.row_pattern import parse_row_pattern
    >>> render_pattern(parse_row_pattern('A ( b | "b" ){2,}? {- C -}'))
    'A (B | "b"){2,}? {- C -}'
    """
    match pattern:
        case Variable(name):
            plain = name == name.upper() and name.replace("_", "a").isalnum() and not name[0].isdigit()
            reserved = name == "PERMUTE"
            return name if plain and not reserved else '"' + name.replace('"', '""') + '"'
        case Concat(parts):
            return " ".join(_grouped(part, Alternation, Concat) for part in parts)
        case Alternation(options):
            return " | ".join(_grouped(option, Alternation) for option in options)
        case Permute(elements):
            return f"PERMUTE({', '.join(render_pattern(element) for element in elements)})"
        case Exclusion(body):
            return f"{{- {render_pattern(body)} -}}"
        case Quantified(body, at_least, at_most, greedy):
            return _grouped(body, Alternation, Concat, Quantified) + _quantifier(at_least, at_most, greedy)
        case Empty():
            return "()"
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"


def _grouped(pattern: Pattern, *kinds: type) -> str:
    text = render_pattern(pattern)
    return f"({text})" if isinstance(pattern, kinds) else text


def _quantifier(at_least: int, at_most: int | None, greedy: bool) -> str:
    short: Mapping[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    text = short.get((at_least, at_most))
    if text is None:
        text = f"{{{at_least}}}" if at_least == at_most else f"{{{at_least},{'' if at_most is None else at_most}}}"
    return text if greedy else text + "?"


def render_clause(query: MatchRecognize) -> str:
    """The clause as text that parses to the same query."""
    lines = []
    if query.partition_by:
        lines.append("PARTITION BY " + ", ".join(_name(key.column) for key in query.partition_by))
    if query.order_by:
        lines.append("ORDER BY " + ", ".join(_sort_key(key) for key in query.order_by))
    if query.measures:
        measures = (f"{render_expression(measure.expression)} AS {quote(measure.name)}" for measure in query.measures)
        lines.append("MEASURES " + ", ".join(measures))
    lines.append(query.output.value + (" SHOW TIMEOUT MATCHES" if query.show_timeouts else ""))
    lines.append(_after_match(query))
    lines.append(f"PATTERN ({render_pattern(query.pattern)})")
    if query.within is not None:
        lines.append(f"WITHIN {_interval(query.within)}")
    if query.max_length is not None:
        lines.append(f"MAXLENGTH {query.max_length}")
    if query.subsets:
        subsets = (
            f"{render_variable(s.name)} = ({', '.join(render_variable(m) for m in s.members)})" for s in query.subsets
        )
        lines.append("SUBSET " + ", ".join(subsets))
    if query.definitions:
        defined = (f"{render_variable(d.variable)} AS {render_expression(d.condition)}" for d in query.definitions)
        lines.append("DEFINE " + ", ".join(defined))
    return "\n".join(lines)


def render_variable(name: str) -> str:
    """The variable's name, quoted where it has to be."""
    return render_pattern(Variable(name))


def _sort_key(key: SortKey) -> str:
    nulls = "" if key.nulls_first is None else f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
    return f"{_name(key.column)}{' DESC' if key.descending else ''}{nulls}"


def _after_match(query: MatchRecognize) -> str:
    if query.mode is not MatchMode.PREFERRED:
        return str(query.mode.value)
    target = f" {render_variable(query.skip.target)}" if query.skip.target is not None else ""
    kind = query.skip.kind
    return f"AFTER MATCH {kind.value}{target if kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST) else ''}"


def _interval(length: timedelta) -> str:
    microseconds = length // timedelta(microseconds=1)
    whole, rest = divmod(microseconds, 1_000_000)
    return f"INTERVAL '{whole}.{rest:06d}' SECOND" if rest else f"INTERVAL '{whole}' SECOND"
