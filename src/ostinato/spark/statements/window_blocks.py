"""Query blocks with row patterns in windows -> DataFrames with their values, and the text around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ostinato.clause.language.statement_spans import Select, Statement
from ostinato.clause.language.windows.parameter_marks import parameter_marks
from ostinato.clause.language.windows.select_blocks import StatementTokens, blocks_with_patterns
from ostinato.clause.language.windows.windowed_block import WindowedBlock
from ostinato.clause.language.windows.windowed_columns import WindowColumns
from ostinato.clause.language.windows.windowed_groups import GroupColumns, GroupedBlock, has_groups
from ostinato.errors import QueryError, Span
from ostinato.expressions.render import quote
from ostinato.spark.clause.clause_options import BatchOptions, ClauseOptions
from ostinato.spark.clause.window_dataframe import with_window_columns
from ostinato.spark.shipping.sql_with_frames import Args, Piece
from ostinato.spark.statements.statement_arguments import window_parameters
from ostinato.spark.statements.sub_queries import with_values


@dataclass(frozen=True, slots=True)
class RanWindows:
    """A statement whose windows with row patterns have become DataFrames."""

    statement: Statement
    """Without what stands in the inputs of the windows."""
    pieces: tuple[Piece, ...] = ()
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    inputs: tuple[Span, ...] = ()
    """The spans that DataFrames and their columns replace. The queries of the inputs have run what stands there."""


def run_windows(
    statement: Statement,
    options: ClauseOptions,
    args: Args,
    ask: Callable[[Select, WindowedBlock], DataFrame],
    ask_sub_query: Callable[[Select, Span], DataFrame],
) -> RanWindows:
    """Runs the row patterns in windows of a statement.

    `ask` runs the query of a block's input, and `ask_sub_query` a sub-query of MEASURES or DEFINE.
    """
    parameters = window_parameters(args, statement.text)
    tokens = StatementTokens(statement.text, statement.settings, parameters, has_sub_queries=True)
    tokens.marks = parameter_marks(tokens)
    blocks = blocks_with_patterns(statement, tokens)
    if not blocks:
        return RanWindows(statement)
    _check_options(options)
    pieces: list[Piece] = []
    frames: dict[str, DataFrame] = {}
    inputs: list[Span] = []
    for each in blocks:
        if _lies_in(each.select.span, inputs):
            continue  # the query of that input runs it
        if not each.calls:
            unused = WindowedBlock(tokens, each).window_pieces()
            pieces += unused
            inputs += [span for span, _ in unused]
            continue
        name = f"ost_rows{len(frames)}"
        block = GroupedBlock(tokens, each) if has_groups(tokens, each) else WindowedBlock(tokens, each)
        run = _BlockRun(block, options, partial(ask_sub_query, each.select))
        frames[name], replaced = run.rows(ask(each.select, block), f"_{name}", f"{{{name}}}")
        pieces += replaced
        inputs += [span for span, _ in replaced]
    outside = replace(
        statement,
        clauses=tuple(each for each in statement.clauses if not _lies_in(each.span, inputs)),
        tables=tuple(each for each in statement.tables if not _lies_in(each.span, inputs)),
    )
    return RanWindows(outside, tuple(pieces), frames, tuple(inputs))


def _check_options(options: ClauseOptions) -> None:
    """Raises for options that windows would ignore."""
    taken = ClauseOptions(options.limits, BatchOptions(options.batch.sort, options.batch.memory_budget))
    if options != taken:
        raise QueryError(
            "INVALID_OPTION",
            "a statement with row patterns in windows takes max_partial_matches, sort and memory_budget only",
            hint="leave the other options out, or give clauses a statement of their own",
        )


def _lies_in(span: Span, inputs: list[Span]) -> bool:
    return any(each.start <= span.start < each.end for each in inputs)


@dataclass(frozen=True, slots=True)
class _BlockRun:
    block: WindowedBlock
    options: ClauseOptions
    answer: Callable[[Span], DataFrame]
    """Gives the rows of a sub-query."""

    def rows(self, source: DataFrame, rows: str, frame: str) -> tuple[DataFrame, list[Piece]]:
        """The input with a column for each value, and the replacements. `source` is the result of `input_query`."""
        block = self.block
        if isinstance(block, GroupedBlock):
            if len(source.columns) != len(block.input_names):
                message = "an item of this select list has several columns, which can't stand beside groups here"
                block.tokens.fail(block.source, message, "UNSUPPORTED_WITH_WINDOW", "put the groups into a sub-query")
            renamed = source.toDF(*(name or f"_ost_n{i}" for i, name in enumerate(block.input_names)))
            df = renamed.select(*(name for name in block.input_names if name))
            df, _ = self._with_values(df, GroupColumns(block))
            return df, block.group_pieces(source.columns, rows, frame)
        columns = block.columns([_fields(block, source, i) for i in range(len(block.tables))])
        names = [f"`{struct}`.{quote(field)} AS {quote(name)}" for struct, field, name in columns.in_windows]
        df = source.selectExpr(*names, *(quote(name) for name in columns.computed))
        df, values = self._with_values(df, columns)
        of_tables = [f"{quote(name)} AS `_ost_c{i}`" for i, (_, _, name) in enumerate(columns.in_windows)]
        return df.selectExpr(*of_tables, *(quote(name) for name in values)), block.pieces(columns, rows, frame)

    def _with_values(self, df: DataFrame, columns: WindowColumns) -> tuple[DataFrame, list[str]]:
        """The rows with a column for each value, and the names of these columns."""
        values = []
        for pattern in self.block.patterns(columns):
            filled = replace(pattern, clause=with_values(pattern.clause, self.answer))
            df = with_window_columns(df, filled, self.options, self.block.tokens.settings)
            values += [measure.name for measure in filled.clause.measures]
        return df, values


def _fields(block: WindowedBlock, source: DataFrame, table: int) -> list[str]:
    """The columns of a table. Raises if two have the same name."""
    struct = source.schema[table].dataType
    assert isinstance(struct, StructType)
    names, fold = struct.fieldNames(), block.tokens.settings.fold
    folded = [fold(name) for name in names]
    for name in names:
        if folded.count(fold(name)) > 1:
            raise QueryError(
                "AMBIGUOUS_COLUMN",
                f"a table of this block has several columns '{name}'",
                text=block.tokens.text,
                span=block.source,
                hint="give them different names, also where no window reads them",
            )
    return names
