"""Text of a regular expression over event types -> trimmed minimal deterministic automaton.

A match is a set of positions, so every word must have one run: the automaton is deterministic. No transition leads back
to its start, which may so stand for "nothing taken yet": merging a loop into it would lose counts. The empty word is no
match. Stages: text -> tree -> positions that may follow one another -> sets of positions -> merged states.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.errors import QueryError, Span, did_you_mean

START = 0
NO_STATE = -1

# --- tree -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Letter:
    """One event of a type."""

    type: str


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`*`, `+` or `?`."""

    body: Tree
    at_least_once: bool
    more_than_once: bool


Tree = Letter | Sequence | Choice | Repeat

_REPEATS = {"*": (False, True), "+": (True, True), "?": (False, False)}


def parse(text: str, declared: frozenset[str] = frozenset()) -> Tree:
    """Reads the expression. A run of letters is one type if it is declared or in backquotes, else one type a letter.

    >>> parse("A(B|C)*")
    Sequence(parts=(Letter(type='A'), Repeat(body=Choice(parts=(Letter(type='B'), Letter(type='C'))), ...)))
    >>> parse("order item+", frozenset({"order", "item"})).parts[0]
    Letter(type='order')
    """
    parser = _Parser(text, _tokens(text, declared))
    tree = parser.choice()
    if (left := parser.peek()) is not None:
        raise _error(text, left, "nothing is open that this could close")
    return tree


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    span: Span
    is_type: bool


def _tokens(text: str, declared: frozenset[str]) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        start, char = place, text[place]
        place += 1
        if char.isspace():
            continue
        if char == "`":
            end = text.find("`", place)
            if end <= place:
                token = _Token(char, Span(start, len(text)), False)
                raise _error(text, token, "a name in backquotes has a letter or more, and a second backquote")
            tokens.append(_Token(text[place:end], Span(start, end + 1), True))
            place = end + 1
        elif char.isalnum() or char == "_":
            while place < len(text) and (text[place].isalnum() or text[place] == "_"):
                place += 1
            tokens += _types_of_run(text, Span(start, place), declared)
        else:
            tokens.append(_Token(char, Span(start, place), False))
    return tokens


def _types_of_run(text: str, span: Span, declared: frozenset[str]) -> list[_Token]:
    run = text[span.start : span.end]
    if run in declared:
        return [_Token(run, span, True)]
    letters = [_Token(char, Span(span.start + i, span.start + i + 1), True) for i, char in enumerate(run)]
    several = {name for name in declared if len(name) > 1}
    if len(run) > 1 and several and not declared.issuperset(run):
        hint = did_you_mean(run, declared) or "types are those declared, or those that have a probability"
        raise QueryError("SUMMARY_UNKNOWN_TYPE", f"'{run}' is no declared type", hint=hint, text=text, span=span)
    return letters


def _error(text: str, token: _Token | None, why: str) -> QueryError:
    if token is None:
        found, span = "the end", Span(len(text), len(text) + 1)
    else:
        found, span = f"'{token.text}'", token.span
    hint = "types, ( ), |, *, + and ? make an expression, such as a(b*c)*d(e|f)g*"
    return QueryError("SUMMARY_EXPRESSION", f"unexpected {found}: {why}", hint=hint, text=text, span=span)


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[_Token]
    place: int = field(default=0)

    def peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _is(self, text: str) -> bool:
        token = self.peek()
        return token is not None and not token.is_type and token.text == text

    def choice(self) -> Tree:
        parts = [self._sequence()]
        while self._is("|"):
            self.place += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while (token := self.peek()) is not None and (token.is_type or token.text == "("):
            parts.append(self._repeated())
        if not parts:
            raise _error(self.text, self.peek(), "a type or a group is needed here")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self) -> Tree:
        body = self._single()
        while (token := self.peek()) is not None and not token.is_type and token.text in _REPEATS:
            body = Repeat(body, *_REPEATS[token.text])
            self.place += 1
        return body

    def _single(self) -> Tree:
        token = self.tokens[self.place]
        self.place += 1
        if token.is_type:
            return Letter(token.text)
        body = self.choice()
        if not self._is(")"):
            raise _error(self.text, self.peek(), "a group is still open")
        self.place += 1
        return body


# --- automaton --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbered in the order of their discovery, `START` first; types in the order of the text."""

    types: tuple[str, ...]
    next_state: tuple[tuple[int, ...], ...]
    """[state][type], or NO_STATE."""
    final: tuple[bool, ...]

    def dump(self) -> str:
        """One line a state: where each type leads.

        >>> print(compile_expression("A(B*C)*D").dump())
        0: A->1
        1: B->2 C->1 D->3
        2: B->2 C->1
        3: final
        """
        lines = []
        for state, row in enumerate(self.next_state):
            moves = [f"{name}->{to}" for name, to in zip(self.types, row, strict=True) if to != NO_STATE]
            lines.append(f"{state}: " + " ".join(moves + ["final"] * self.final[state]))
        return "\n".join(lines)


def compile_expression(text: str, declared: frozenset[str] = frozenset()) -> Automaton:
    """Text -> automaton. `declared` are names of types that may have several letters."""
    return _numbered(_merged(_deterministic(_positions(parse(text, declared)))))


def with_one_of(automaton: Automaton, types: frozenset[str]) -> Automaton:
    """The words among those accepted that have at least one letter of the types.

    >>> print(with_one_of(compile_expression("a+b?"), frozenset("b")).dump())
    0: a->1
    1: a->1 b->2
    2: final
    """
    marked = [name in types for name in automaton.types]
    rows: list[tuple[int, ...]] = []
    pairs = [(START, False)]
    number = {(START, False): START}
    for state, seen in pairs:  # grows while it is read
        row = []
        for type, to in enumerate(automaton.next_state[state]):
            pair = (to, seen or marked[type])
            if to != NO_STATE and pair not in number:
                number[pair] = len(pairs)
                pairs.append(pair)
            row.append(NO_STATE if to == NO_STATE else number[pair])
        rows.append(tuple(row))
    final = tuple(automaton.final[state] and seen for state, seen in pairs)
    return _numbered(_merged(_trimmed(Automaton(automaton.types, tuple(rows), final))))


def _trimmed(automaton: Automaton) -> Automaton:
    """Without moves into states from which no final one is reached."""
    alive = {state for state, is_final in enumerate(automaton.final) if is_final}
    while True:
        more = {s for s, row in enumerate(automaton.next_state) if s not in alive and alive.intersection(row)}
        if not more:
            break
        alive |= more
    rows = tuple(tuple(to if to in alive else NO_STATE for to in row) for row in automaton.next_state)
    return Automaton(automaton.types, rows, automaton.final)


@dataclass(frozen=True, slots=True)
class _Fragment:
    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class _Positions:
    """Glushkov's construction: `follow[p]` may come after position p; position 0 stands before all."""

    types: list[str] = field(default_factory=lambda: [""])
    follow: list[set[int]] = field(default_factory=lambda: [set()])
    last: frozenset[int] = frozenset()

    def fragment(self, tree: Tree) -> _Fragment:
        match tree:
            case Letter(name):
                self.types.append(name)
                self.follow.append(set())
                here = frozenset({len(self.types) - 1})
                return _Fragment(False, here, here)
            case Choice(parts):
                found = [self.fragment(part) for part in parts]
                first = frozenset().union(*(part.first for part in found))
                return _Fragment(any(f.nullable for f in found), first, frozenset().union(*(f.last for f in found)))
            case Sequence(parts):
                whole = _Fragment(True, frozenset(), frozenset())
                for part in parts:
                    whole = self._joined(whole, self.fragment(part))
                return whole
            case Repeat(body, at_least_once, more_than_once):
                inner = self.fragment(body)
                if more_than_once:
                    self._connect(inner, inner)
                return _Fragment(inner.nullable or not at_least_once, inner.first, inner.last)

    def _joined(self, left: _Fragment, right: _Fragment) -> _Fragment:
        self._connect(left, right)
        first = left.first | right.first if left.nullable else left.first
        last = left.last | right.last if right.nullable else right.last
        return _Fragment(left.nullable and right.nullable, first, last)

    def _connect(self, left: _Fragment, right: _Fragment) -> None:
        for position in left.last:
            self.follow[position] |= right.first


def _positions(tree: Tree) -> _Positions:
    positions = _Positions()
    whole = positions.fragment(tree)
    positions.follow[0] |= whole.first
    positions.last = whole.last
    return positions


def _deterministic(positions: _Positions) -> Automaton:
    """Sets of positions. Every position leads to a last one, so no state is dead; {0} is never entered again."""
    types = tuple(dict.fromkeys(positions.types[1:]))
    start = frozenset({0})
    sets = [start]
    number = {start: START}
    rows: list[tuple[int, ...]] = []
    for current in sets:  # grows while it is read
        after = set().union(*(positions.follow[p] for p in current))
        row = []
        for name in types:
            target = frozenset(p for p in after if positions.types[p] == name)
            if target and target not in number:
                number[target] = len(sets)
                sets.append(target)
            row.append(number[target] if target else NO_STATE)
        rows.append(tuple(row))
    return Automaton(types, tuple(rows), tuple(bool(positions.last & current) for current in sets))


def _merged(automaton: Automaton) -> Automaton:
    """States that accept the same words become one (Moore); the start stays alone."""
    states = range(len(automaton.final))
    kind = [0 if state == START else 1 + automaton.final[state] for state in states]
    while True:
        signatures = {
            state: (kind[state], *(NO_STATE if to == NO_STATE else kind[to] for to in automaton.next_state[state]))
            for state in states
        }
        numbers = {signature: number for number, signature in enumerate(dict.fromkeys(signatures.values()))}
        refined = [numbers[signatures[state]] for state in states]
        if len(numbers) == len(set(kind)):
            break
        kind = refined
    chosen = {kind[state]: state for state in reversed(states)}
    place = {number: index for index, number in enumerate(sorted(chosen, key=chosen.__getitem__))}
    rows = []
    for number in place:
        row = automaton.next_state[chosen[number]]
        rows.append(tuple(NO_STATE if to == NO_STATE else place[kind[to]] for to in row))
    return Automaton(automaton.types, tuple(rows), tuple(automaton.final[chosen[number]] for number in place))


def _numbered(automaton: Automaton) -> Automaton:
    """The same automaton, states in the order of a search in breadth."""
    order = [START]
    for state in order:  # grows while it is read
        order += [to for to in dict.fromkeys(automaton.next_state[state]) if to != NO_STATE and to not in order]
    place = {state: index for index, state in enumerate(order)}
    rows = tuple(
        tuple(NO_STATE if to == NO_STATE else place[to] for to in automaton.next_state[state]) for state in order
    )
    return Automaton(automaton.types, rows, tuple(automaton.final[state] and state != START for state in order))
