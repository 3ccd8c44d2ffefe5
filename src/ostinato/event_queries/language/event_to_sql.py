"""BoundEventQuery -> an equivalent MATCH_RECOGNIZE query, where one exists: ALL MATCHES with rows to skip in between.

Skip-till-any becomes a further variable that takes any row between two events of the match. Strictly increasing times
and conditions between adjacent events are conditions over the union of all other variables.
"""

from __future__ import annotations

from datetime import timedelta

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import (
    Absent,
    AdjacentCondition,
    AllOf,
    AnyOf,
    BoundEventQuery,
    ComputedItem,
    EventPattern,
    EventSpan,
    EventWindows,
    GroupColumn,
    InOrder,
    OneEvent,
    OutputItem,
    Repeated,
    ReturnMatches,
    RunCondition,
    Selection,
    TimeSpan,
    TimeWindows,
    TrendAggregate,
    TrendFunction,
    WindowEdge,
    Without,
)
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Aggregate, Column, Expr, Navigation

_OUTER = {TrendFunction.COUNT: "SUM", TrendFunction.SUM: "SUM", TrendFunction.MIN: "MIN", TrendFunction.MAX: "MAX"}


def event_query_to_sql(bound: BoundEventQuery, table: str) -> str:
    """A SELECT over `table` that gives the same rows; raises CANNOT_BE_SAID_IN_SQL if there is none.

    Counts and sums are BIGINT in SQL. They overflow earlier than those of the event query.
    """
    return _Translation(bound).select(table)


class _Translation:
    def __init__(self, bound: BoundEventQuery) -> None:
        self.bound = bound
        self.query = bound.query
        used_names = {name.upper() for name in bound.variables}
        self.event = _free("EVENT", used_names)
        self.skipped = _free("SKIPPED", used_names | {self.event})

    def select(self, table: str) -> str:
        self._check()
        if isinstance(self.query.returns, ReturnMatches):
            return self._matches(table)
        measures: dict[str, str] = {}
        items = [f"{self._item(output, measures)} AS {quote(name)}" for name, output in self.bound.outputs]
        clause = self._clause(measures | self._match_filters())
        where = " AND ".join(f"`{name}`" for name in self._match_filters())
        groups = ", ".join(quote(name) for name in self.bound.group_by)
        return (
            f"SELECT {', '.join(items)}\nFROM {quote(table)} MATCH_RECOGNIZE (\n{clause}\n)"
            + (f"\nWHERE {where}" if where else "")
            + (f"\nGROUP BY {groups}" if groups else "")
        )

    def _matches(self, table: str) -> str:
        if self._match_filters():
            raise self._cannot(
                "conditions over several variables filter whole matches, but the query returns single rows"
            )
        measures = {"match_number": "MATCH_NUMBER()", "variable": "CLASSIFIER()"}
        clause = self._clause(measures, rows="ALL ROWS PER MATCH")
        skipped = f"\nWHERE `variable` <> '{self.skipped}'" if self.query.selection is Selection.ANY else ""
        return f"SELECT *\nFROM {quote(table)} MATCH_RECOGNIZE (\n{clause}\n){skipped}"

    # --- queries without an equivalent ---

    def _check(self) -> None:
        if self.query.selection is Selection.NEXT:
            raise self._cannot("with SKIP TILL NEXT MATCH, the rows that may be skipped depend on the partial match")
        if isinstance(self.query.bound, TimeWindows | EventWindows):
            raise self._cannot("the clause has WITHIN, but no windows")
        if isinstance(self.query.bound, EventSpan) and set(self.bound.same) - set(self.bound.group_by):
            raise self._cannot("MAXLENGTH counts the rows of a partition, WITHIN ... EVENTS those of a group")
        if isinstance(self.query.returns, ReturnMatches) and self.query.returns.limit is not None:
            raise self._cannot("LIMIT applies to each group")

    def _cannot(self, why: str) -> QueryError:
        return QueryError("CANNOT_BE_SAID_IN_SQL", f"MATCH_RECOGNIZE can't express this: {why}")

    # --- the clause ---

    def _clause(self, measures: dict[str, str], rows: str = "ONE ROW PER MATCH") -> str:
        keys = dict.fromkeys((*self.bound.group_by, *self.bound.same))
        variables = [quote(name) for name in self.bound.variables]
        lines = [
            f"PARTITION BY {', '.join(map(quote, keys))}" if keys else "",
            f"ORDER BY {quote(self.bound.time)}",
            "MEASURES " + ", ".join(f"{text} AS {quote(name)}" for name, text in measures.items()) if measures else "",
            f"{rows}\nALL MATCHES",
            f"PATTERN ({self._pattern(self.query.pattern)})",
            self._within(),
            f"SUBSET {self.event} = ({', '.join(variables)})",
            "DEFINE " + ",\n  ".join(self._definitions()),
        ]
        return "\n".join(line for line in lines if line)

    def _pattern(self, pattern: EventPattern) -> str:
        match pattern:
            case OneEvent(variable=name):
                if self.query.selection is Selection.STRICT:
                    return quote(name)
                return f"({self.skipped}* {quote(name)})"
            case InOrder(parts):
                return " ".join(self._pattern(part) for part in parts)
            case AnyOf(parts):
                return "(" + " | ".join(self._pattern(part) for part in parts) + ")"
            case Repeated(body, times):
                return f"({self._pattern(body)}){times.text}"
            case Absent() | Without():
                raise self._cannot("NOT compares times, but the clause orders rows of the same time")
            case AllOf():
                raise self._cannot("AND pairs matches")

    def _within(self) -> str:
        match self.query.bound:
            case TimeSpan(length):
                return f"WITHIN INTERVAL '{length / timedelta(seconds=1):f}' SECOND"
            case EventSpan(length):
                return f"MAXLENGTH {length}"
        return ""

    def _definitions(self) -> list[str]:
        time = quote(self.bound.time)
        previous = f"LAST({self.event}.{time}, 1)"
        result = []
        for name in self.bound.variables:
            here = quote(name)
            conditions = [render_expression(self.bound.qualifies[name]), f"{time} IS NOT NULL"]
            conditions += [f"{quote(column)} IS NOT NULL" for column in self.bound.same]
            conditions.append(f"({previous} IS NULL OR {here}.{time} > {previous})")
            conditions += [self._adjacent(edge, previous) for edge in self.bound.adjacent if edge.after == name]
            result.append(f"{here} AS " + " AND ".join(conditions))
        if self.query.selection is Selection.ANY:
            result.append(f"{self.skipped} AS COUNT({self.event}.*) > 0")
        return result

    def _adjacent(self, edge: AdjacentCondition, previous: str) -> str:
        """The condition for the case that the previous event is bound to `before`: its time is that of the last such
        event."""
        before, after, time = quote(edge.before), quote(edge.after), quote(self.bound.time)
        offsets = {1: ("1" if edge.before == edge.after else "0", before), 0: ("0", after)}

        def leaf(node: Expr) -> str | None:
            if not isinstance(node, Navigation):
                return None
            back, variable = offsets[node.skip]
            inside = render_expression(
                node.operand, lambda part: f"{variable}.{quote(part.name)}" if isinstance(part, Column) else None
            )
            return f"LAST({inside}, {back})"

        bound_before = f"LAST({before}.{time}, {offsets[1][0]})"
        condition = render_expression(edge.condition, leaf)
        return f"({bound_before} IS NULL OR {bound_before} <> {previous} OR {condition})"

    # --- conditions over the whole match ---

    def _match_filters(self) -> dict[str, str]:
        """Conditions over several variables as measures of the match, by which the query filters."""
        return {f"holds_{i}": self._match_filter(condition) for i, condition in enumerate(self.bound.run)}

    def _match_filter(self, condition: RunCondition) -> str:
        if condition.each is not None:
            raise self._cannot(f"it has a condition for each event of {condition.each}, not for the match")
        missing = [f"COUNT({quote(name)}.*) = 0" for name in sorted(condition.variables)]

        def leaf(node: Expr) -> str | None:
            if not isinstance(node, Navigation | Aggregate):
                return None
            assert node.rows is not None
            variable = quote(next(iter(node.rows)))

            def column(part: Expr) -> str | None:
                return f"{variable}.{quote(part.name)}" if isinstance(part, Column) else None

            if isinstance(node, Navigation):
                return f"{node.anchor.value.upper()}({render_expression(node.operand, column)})"
            inside = ", ".join(render_expression(arg, column) for arg in node.args) or f"{variable}.*"
            return f"{node.name}({inside})"

        return " OR ".join([*missing, f"COALESCE({render_expression(condition.condition, leaf)}, FALSE)"])

    # --- aggregates ---

    def _item(self, output: OutputItem, measures: dict[str, str]) -> str:
        match output:
            case GroupColumn(column):
                return quote(column)
            case WindowEdge():
                raise self._cannot("the clause has no windows")
            case ComputedItem():
                raise self._cannot("counts and sums are BIGINT in SQL, so arithmetic with them is rounded differently")
            case TrendAggregate(TrendFunction.COUNT, None):
                return "COUNT(*)"
            case TrendAggregate(TrendFunction.AVG, variables, value):
                total = self._item(TrendAggregate(TrendFunction.SUM, variables, value), measures)
                return f"{total} / {self._item(TrendAggregate(TrendFunction.COUNT, variables, value), measures)}"
            case TrendAggregate(function, variables, value):
                assert variables is not None
                per_variable = [self._measure(function, name, value, measures) for name in sorted(variables)]
                return self._together(function, per_variable)

    def _measure(self, function: TrendFunction, variable: str, value: Expr | None, measures: dict[str, str]) -> str:
        inside = f"{quote(variable)}.*"
        if value is not None:
            inside = render_expression(
                value, lambda part: f"{quote(variable)}.{quote(part.name)}" if isinstance(part, Column) else None
            )
        text = f"{function.value}({inside})"
        name = next((known for known, other in measures.items() if other == text), f"m{len(measures)}")
        measures[name] = text
        return f"{_OUTER[function]}({quote(name)})"

    def _together(self, function: TrendFunction, values: list[str]) -> str:
        if len(values) == 1:
            return values[0]
        if function in (TrendFunction.MIN, TrendFunction.MAX):
            return f"{'LEAST' if function is TrendFunction.MIN else 'GREATEST'}({', '.join(values)})"
        total = " + ".join(f"COALESCE({value}, 0)" for value in values)
        return f"CASE WHEN COALESCE({', '.join(values)}) IS NOT NULL THEN {total} END"


def _free(name: str, used_names: set[str]) -> str:
    while name in used_names:
        name += "_"
    return name
