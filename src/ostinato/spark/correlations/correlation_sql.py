"""A correlation in SQL text -> the text that replaces it, so that Spark reads one table of pairs.

    FROM x MATCH_RECOGNIZE ( ... ) AS live JOIN y MATCH_RECOGNIZE ( ... ) AS archive ON condition AND RECENT( ... )

becomes, with a DataFrame of pairs whose two sides are structs,

    FROM (SELECT pair.* FROM {pairs} AS pair, LATERAL (pair.live.*) AS live, LATERAL (pair.archive.*) AS archive
          WHERE condition AND TRUE) AS pair, LATERAL (pair.live.*) AS live, LATERAL (pair.archive.*) AS archive

For Spark, a LATERAL that only expands a struct is a projection. With a condition, it would join the DataFrame with
itself and match twice. So the condition of ON moves to a WHERE, one level further in.
"""

from __future__ import annotations

from ostinato.clause.language.statement_spans import Clause
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START
from ostinato.correlations.language.correlation_parser import CorrelationText
from ostinato.errors import Span
from ostinato.expressions.lexer import Kind, tokenize
from ostinato.expressions.render import quote
from ostinato.rows.column_names import PREFIX
from ostinato.spark.shipping.sql_with_frames import Piece

LIVE = f"{PREFIX}live"
ARCHIVE = f"{PREFIX}archive"
"""The columns of the DataFrame of pairs that hold the two sides."""


def correlation_pieces(occurrence: CorrelationText, frame: str) -> list[Piece]:
    """The replacements for a correlation. `frame` names the DataFrame of its pairs."""
    pair = f"{PREFIX}{frame}"
    sides = [(_alias(occurrence.live_alias), LIVE), (_alias(occurrence.archive_alias), ARCHIVE)]
    apart = "".join(f" CROSS JOIN LATERAL (SELECT {pair}.{column}.*) AS {alias}" for alias, column in sides)
    pieces = [(occurrence.recent, "TRUE")]
    if occurrence.on is None:
        pieces.append((occurrence.pair, f"{{{frame}}} AS {pair}{apart}"))
    else:
        behind_on = Span(occurrence.on.start + len("ON"), occurrence.on.start + len("ON"))
        before = f"(SELECT {pair}.* FROM {{{frame}}} AS {pair}{apart} WHERE"
        pieces.append((occurrence.pair.to(behind_on), before))
        pieces.append((Span(occurrence.on.end, occurrence.on.end), f") AS {pair}{apart}"))
    selected = [f"{pair}.{CORRELATION_START}", f"{pair}.{CORRELATION_END}"]
    selected += [f"{alias}.*" for alias, _ in sides]
    return [*pieces, *((star, ", ".join(selected)) for star in occurrence.stars)]


def _alias(name: str) -> str:
    """The quoted alias, with braces doubled for Spark's formatter."""
    return quote(name).replace("{", "{{").replace("}", "}}")


def written_alike(text: str, one: Clause, other: Clause) -> bool:
    """Whether the inputs of two clauses are equal except for aliases, so that both read the same rows.

    >>> from ostinato.clause.language.statement_spans import read_statement
    >>> statement = read_statement("SELECT * FROM t a MATCH_RECOGNIZE (PATTERN (A)), T MATCH_RECOGNIZE (PATTERN (A))")
    >>> written_alike(statement.text, *statement.clauses)
    True
    """
    inputs = [_without_alias(text[clause.input.start : clause.input.end]) for clause in (one, other)]
    return inputs[0] == inputs[1] and "?" not in inputs[0] and one.tables == other.tables


def _without_alias(written: str) -> list[str]:
    """The words of an input without its alias, names in lower case."""
    tokens = [token for token in tokenize(written) if token.kind is not Kind.END]
    words = [token.name.lower() if token.is_name else token.text for token in tokens]
    end = 1
    while end + 1 < len(words) and words[end] == ".":
        end += 2
    is_plain = tokens[0].is_name and all(token.is_name for token in tokens[end:])
    return words[:end] if is_plain else words
