"""`CREATE TEMP VIEW v AS query` -> a view on the DataFrame of the query, and the refusal of other views."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from ostinato.errors import QueryError, Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import first_token
from ostinato.expressions.render import quote
from ostinato.expressions.types import Settings
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.row_errors import refusal


@dataclass(frozen=True, slots=True)
class TemporaryView:
    """The view that a statement creates. `query` is the span of the query that it shows."""

    name: str
    columns: tuple[str, ...]
    query: Span
    replaces: bool
    is_global: bool

    def create(self, rows: DataFrame, text: str) -> DataFrame:
        """Creates the view on these rows. Returns what Spark returns for such a statement: no column and no row."""
        if self.columns and len(self.columns) != len(rows.columns):
            message = f"the view names {len(self.columns)} columns, and its query has {len(rows.columns)}"
            raise QueryError("INVALID_ARGUMENTS", message, text=text, span=self.query)
        shown = rows.toDF(*self.columns) if self.columns else rows
        create = {
            (False, False): shown.createTempView,
            (True, False): shown.createOrReplaceTempView,
            (False, True): shown.createGlobalTempView,
            (True, True): shown.createOrReplaceGlobalTempView,
        }[self.replaces, self.is_global]
        with without_error_log():
            try:
                create(quote(self.name))
            except AnalysisException as error:
                raise refusal(error, None, text) from None
        return rows.sparkSession.range(0).select()


def read_temporary_view(text: str, settings: Settings) -> TemporaryView | None:
    """The view of `CREATE [OR REPLACE] [GLOBAL] TEMP VIEW name [(columns)] AS query`; None for other statements.

    Raises VIEW_NOT_SUPPORTED for views and streaming tables whose text Spark stores: it can't read a clause.
    """
    if first_token(text).upper != "CREATE":
        return None
    cursor = Cursor(text, double_quoted_identifiers=settings.double_quoted_identifiers)
    cursor.expect("CREATE")
    replaces = cursor.accept("OR", "REPLACE")
    if not replaces:
        cursor.accept("OR", "REFRESH")
    is_global = cursor.accept("GLOBAL")
    is_temporary = cursor.accept("TEMP") or cursor.accept("TEMPORARY")
    if cursor.sees("STREAMING", "TABLE") or cursor.sees("MATERIALIZED", "VIEW"):
        hint = "CREATE TABLE name AS ... for the rows of tables, or writeStream for the streaming DataFrame of a query"
        cursor.fail("pipelines store the text of a query, and can't read a clause", code=_CODE, hint=hint)
    if not cursor.sees("VIEW"):
        return None
    view = cursor.take().span
    if not is_temporary:
        hint = "CREATE TEMP VIEW name AS ..., or CREATE TABLE name AS ... for its rows"
        cursor.fail("Spark stores the text of a view, and can't read a clause", code=_CODE, span=view, hint=hint)
    name, _ = cursor.name("the view's name")
    columns = _columns(cursor)
    if not cursor.sees("AS"):
        hint = "CREATE OR REPLACE TEMP VIEW name (columns) AS query"
        cursor.fail(f"'{cursor.token.text}' can't stand in a temporary view with a clause", code=_CODE, hint=hint)
    cursor.take()
    return TemporaryView(name.text, columns, Span(cursor.token.span.start, len(text)), replaces, is_global)


_CODE = "VIEW_NOT_SUPPORTED"


def _columns(cursor: Cursor) -> tuple[str, ...]:
    if not cursor.accept("("):
        return ()
    names = [cursor.name("a column's name")[0].text]
    while cursor.accept(","):
        names.append(cursor.name("a column's name")[0].text)
    cursor.expect(")")
    return tuple(names)
