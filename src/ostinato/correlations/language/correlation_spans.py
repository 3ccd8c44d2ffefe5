"""Full SQL text -> spans of its correlations: two adjacent clauses in FROM, joined by RECENT.

    FROM x MATCH_RECOGNIZE ( ... ) AS live JOIN y MATCH_RECOGNIZE ( ... ) AS archive ON ... AND RECENT(archive, live, P)

Nothing is rewritten here, and neither clause is parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ostinato.clause.language.statement_spans import END_OF_FROM, NO_ALIAS, SET_OPERATIONS, Clause, Statement
from ostinato.correlations.language.token_levels import OUTERMOST, Levels
from ostinato.errors import QueryError, Span, did_you_mean

_JOINS = ((",",), ("JOIN",), ("INNER", "JOIN"), ("CROSS", "JOIN"))
_OUTER = frozenset("LEFT RIGHT FULL OUTER SEMI ANTI".split())
_END_OF_ON = frozenset(", JOIN INNER LEFT RIGHT FULL CROSS NATURAL SEMI ANTI LATERAL ON USING ;".split())
_WHERE_IT_STANDS = "FROM ... AS live JOIN ... AS archive ON live.key = archive.key AND RECENT(archive, live, distance)"


@dataclass(frozen=True, slots=True)
class CorrelationText:
    """One correlation. Spans are of the whole statement."""

    live: Clause
    archive: Clause
    live_alias: str
    archive_alias: str
    live_first: bool
    pair: Span
    """From the start of the first clause to the end of the second one's alias. A single table can replace it."""
    on: Span | None
    """From the word ON behind the pair to the end of its condition; None without ON."""
    recent: Span
    """The RECENT call."""
    distance: Span
    """Its third argument."""
    conjuncts: tuple[Span, ...]
    """The other conjuncts of ON behind the pair, and those of WHERE."""
    stars: tuple[Span, ...]
    """The bare `*` of the same SELECT list."""
    end: Span
    """The text behind the pair, its ON and WHERE in the same SELECT. It can be empty."""


def find_correlations(statement: Statement) -> tuple[CorrelationText, ...]:
    """The correlations of a statement, in the order of their RECENT calls."""
    return _Finder(statement).find() if statement.clauses else ()


@dataclass(frozen=True, slots=True)
class _ClauseInFrom:
    """A clause of a FROM list. It has the tokens `at` to `behind - 1` of its level."""

    clause: Clause
    alias: str | None
    at: int
    behind: int


@dataclass(frozen=True, slots=True)
class _Select:
    """One SELECT: the indices of its tokens, and the positions of FROM and WHERE among them."""

    indices: Sequence[int]
    from_at: int
    from_end: int
    where: Sequence[int]
    behind_where: int


class _Finder:
    def __init__(self, statement: Statement) -> None:
        self.text = statement.text
        self.clauses = {clause.span.start: clause for clause in statement.clauses}
        self.levels = Levels(statement.text)

    def find(self) -> tuple[CorrelationText, ...]:
        correlations: list[CorrelationText] = []
        for at in range(len(self.levels.tokens)):
            if self._is_recent(at):
                correlation = self._correlation(at)
                if any(correlation.pair == earlier.pair for earlier in correlations):
                    self._misplaced(correlation.recent, "RECENT stands a second time for the same two clauses")
                correlations.append(correlation)
        return tuple(correlations)

    def _is_recent(self, at: int) -> bool:
        levels = self.levels
        if levels.word(at) != "RECENT" or levels.tokens[at + 1].upper != "(":
            return False
        start = levels.token(at).span.start
        return not any(clause.span.start <= start < clause.span.end for clause in self.clauses.values())

    def _misplaced(self, span: Span, message: str, hint: str = _WHERE_IT_STANDS) -> NoReturn:
        raise QueryError("RECENT_MISPLACED", message, text=self.text, span=span, hint=hint)

    def _correlation(self, at: int) -> CorrelationText:
        levels = self.levels
        recent = levels.span([at, at + 1])
        select = self._select_around(at, recent)
        archive_name, live_name, distance = self._arguments(at, recent)
        sides = self._sides(select)
        archive = self._named(archive_name, sides, recent)
        live = self._named(live_name, sides, recent)
        if live is archive:
            self._misplaced(recent, "RECENT relates two clauses, but both names are of one")
        first, second = sorted((live, archive), key=lambda side: side.at)
        self._check_joined(select, first, second)
        condition, behind_on = self._on(select, second)
        conjuncts = [*levels.conjuncts(condition), *levels.conjuncts(select.where)]
        if not any(conjunct[0] == at and levels.span(conjunct) == recent for conjunct in conjuncts):
            self._misplaced(
                recent,
                "RECENT isn't a condition of the join of the two clauses",
                "write it in ON behind them or in WHERE, and join it to the rest by AND",
            )
        has_others = first.at > select.from_at + 1 or behind_on < select.from_end
        return CorrelationText(
            live=live.clause,
            archive=archive.clause,
            live_alias=str(live.alias),
            archive_alias=str(archive.alias),
            live_first=first is live,
            pair=levels.span(select.indices[first.at : second.behind]),
            on=levels.span(select.indices[second.behind : behind_on]) if condition else None,
            recent=recent,
            distance=distance,
            conjuncts=tuple(levels.span(conjunct) for conjunct in conjuncts if conjunct[0] != at),
            stars=self._stars(select, has_others),
            end=self._end(select, behind_on),
        )

    # --- the SELECT around it ---

    def _select_around(self, at: int, recent: Span) -> _Select:
        levels, inner = self.levels, at
        opening = levels.around[at]
        while True:
            indices: Sequence[int] = levels.level(opening)
            if any(levels.word(index) == "SELECT" for index in indices):
                break
            if opening == OUTERMOST:
                self._misplaced(recent, "RECENT stands outside of any SELECT")
            inner, opening = opening, levels.around[opening]
        indices = self._one_of_set(indices, inner)
        words = [levels.word(index) for index in indices]
        from_at = next(
            (i for i, word in enumerate(words) if word == "FROM" and (i == 0 or words[i - 1] != "DISTINCT")), None
        )
        if from_at is None:
            self._misplaced(recent, "RECENT needs two MATCH_RECOGNIZE clauses in FROM")
        ends = (*END_OF_FROM, "SELECT", ";")
        from_end = next((i for i in range(from_at + 1, len(words)) if words[i] in ends), len(words))
        behind = from_end
        if from_end < len(words) and words[from_end] == "WHERE":
            behind = next((i for i in range(from_end + 1, len(words)) if words[i] in ends), len(words))
        return _Select(indices, from_at, from_end, indices[from_end + 1 : behind], behind)

    def _one_of_set(self, indices: Sequence[int], inner: int) -> Sequence[int]:
        """The indices of the SELECT around `inner`, between UNION and other set operations."""
        cuts = [i for i, index in enumerate(indices) if self.levels.word(index) in SET_OPERATIONS]
        here = indices.index(inner)
        start = max((cut + 1 for cut in cuts if cut < here), default=0)
        return indices[start : min((cut for cut in cuts if cut > here), default=len(indices))]

    def _sides(self, select: _Select) -> list[_ClauseInFrom]:
        levels, indices = self.levels, select.indices
        sides: list[_ClauseInFrom] = []
        for at in range(select.from_at + 1, select.from_end):
            clause = self.clauses.get(levels.token(indices[at]).span.start)
            if clause is None:
                continue
            behind = at
            while behind < select.from_end and levels.token(indices[behind]).span.start < clause.span.end:
                behind += 1
            sides.append(self._with_alias(select, clause, at, behind))
        return sides

    def _with_alias(self, select: _Select, clause: Clause, at: int, behind: int) -> _ClauseInFrom:
        levels, indices = self.levels, select.indices
        if behind < select.from_end and levels.word(indices[behind]) == "AS":
            behind += 1
        if behind == select.from_end:
            return _ClauseInFrom(clause, None, at, behind)
        token = levels.token(indices[behind])
        if not token.is_name or token.upper in NO_ALIAS:
            return _ClauseInFrom(clause, None, at, behind)
        return _ClauseInFrom(clause, token.name, at, behind + 1)

    # --- RECENT's arguments ---

    def _arguments(self, at: int, recent: Span) -> tuple[int, int, Span]:
        """The token indices of the two names, and the span of the distance."""
        levels = self.levels
        inside = levels.level(at + 1)
        words = [levels.word(index) for index in inside]
        names = [levels.token(index) for index in inside[:4:2]]
        if len(inside) < 5 or words[1] != "," or words[3] != "," or not all(name.is_name for name in names):
            self._misplaced(
                recent,
                "RECENT takes the names of the two clauses and a distance",
                "RECENT(archive, live, INTERVAL '7' SECOND)",
            )
        return inside[0], inside[2], levels.span(inside[4:])

    def _named(self, index: int, sides: Sequence[_ClauseInFrom], recent: Span) -> _ClauseInFrom:
        aliases = [side.alias for side in sides if side.alias is not None]
        token = self.levels.token(index)
        if len(sides) < 2:
            self._misplaced(recent, "RECENT needs two MATCH_RECOGNIZE clauses in the FROM of its SELECT")
        named = [side for side in sides if side.alias is not None and side.alias.lower() == token.name.lower()]
        if not named:
            self._misplaced(
                token.span,
                f"no MATCH_RECOGNIZE clause of this FROM is named '{token.name}'",
                did_you_mean(token.name, aliases) or f"named are: {', '.join(aliases) or 'none; write ) AS live'}",
            )
        return named[0]

    # --- how the two are joined ---

    def _check_joined(self, select: _Select, first: _ClauseInFrom, second: _ClauseInFrom) -> None:
        levels, indices = self.levels, select.indices
        between = indices[first.behind : second.at]
        words = tuple(levels.word(index) for index in between)
        if words not in _JOINS:
            span = levels.span(between) if between else second.clause.input
            if _OUTER & set(words):
                self._misplaced(span, "a correlation is an inner join: there is no outer one")
            if between and levels.word(between[0]) == "(":
                self._unsupported(span, "a clause of a correlation can't rename its columns", "name them in MEASURES")
            hint = "put other tables behind the two, or the correlation into a sub-query"
            self._misplaced(span, "the two clauses of RECENT don't stand side by side in FROM", hint)
        if levels.word(indices[first.at - 1]) not in ("FROM", ","):
            before = levels.token(indices[first.at - 1]).span
            self._misplaced(before, "a table is joined to the first of RECENT's clauses", "use a sub-query")
        for i in range(select.from_at + 1, select.from_end - 1):
            index = indices[i]
            if levels.word(index) in ("RIGHT", "FULL", "NATURAL") and levels.word(indices[i + 1]) != "(":
                span = levels.token(index).span
                self._misplaced(span, "such a join can't stand beside RECENT", "put the correlation into a sub-query")

    def _on(self, select: _Select, second: _ClauseInFrom) -> tuple[Sequence[int], int]:
        """The condition behind ON, if there is one, and the position behind it."""
        levels, indices, start = self.levels, select.indices, second.behind
        word = levels.word(indices[start]) if start < select.from_end else ""
        if word == "(":
            span = levels.span([indices[start]])
            self._unsupported(span, "a clause of a correlation can't rename its columns", "name them in MEASURES")
        if word == "USING":
            span = levels.span([indices[start]])
            self._misplaced(span, "USING can't join the clauses of a correlation", "write ON live.key = archive.key")
        if word != "ON":
            return (), start
        for end in range(start + 1, select.from_end):
            is_call = end + 1 < select.from_end and levels.word(indices[end + 1]) == "("
            if levels.word(indices[end]) in _END_OF_ON and not is_call:
                return indices[start + 1 : end], end
        return indices[start + 1 : select.from_end], select.from_end

    def _unsupported(self, span: Span, message: str, hint: str) -> NoReturn:
        raise QueryError("CORRELATION_NOT_SUPPORTED", message, text=self.text, span=span, hint=hint)

    # --- the SELECT list, and the text behind ---

    def _stars(self, select: _Select, has_others: bool) -> tuple[Span, ...]:
        levels = self.levels
        words = [levels.word(index) for index in select.indices]
        start = words.index("SELECT")
        stars = []
        for i in range(start + 1, len(words)):
            if words[i] == "FROM" or words[i] in END_OF_FROM:
                break
            if words[i] == "*" and words[i - 1] in ("SELECT", "DISTINCT", "ALL", ","):
                stars.append(levels.token(select.indices[i]).span)
        if stars and has_others:
            message = "`*` beside a correlation can't also mean the columns of other tables"
            self._unsupported(stars[0], message, "name the selected columns: live.*, archive.*")
        return tuple(stars)

    def _end(self, select: _Select, behind_on: int) -> Span:
        """The text behind the correlation: further tables, or everything after WHERE."""
        levels = self.levels
        rest = select.indices[behind_on if behind_on < select.from_end else select.behind_where :]
        return levels.span(rest) if rest else levels.tokens[-1].span
