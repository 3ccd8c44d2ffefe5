"""A language model behind an OpenAI-compatible endpoint, as proposer of path queries and as answerer.

Only ever called when one was given. Its words are never executed: what it proposes is parsed as path queries, and what
doesn't parse, or names relations that the graph doesn't have, is left out.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ostinato.errors import EnvironmentFault, QueryError
from ostinato.language.path_query import path_query, render_path
from ostinato.query.path_query import OneEdge, PathQuery
from ostinato.runtimes.paths import facts_of

DEFAULT_TIMEOUT_SECONDS = 60.0
_MOST_BYTES = 1 << 24
"""Of an answer of the endpoint."""
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")

PROPOSE = """Relations of a knowledge graph: {relations}.
Write up to {k} relation paths that lead from "{topic}" to the answer of the question, one a line, the most likely
first. Separate relations with " / ", write ^ before a relation that is walked from its tail to its head. No other text.
Question: {question}"""

ANSWER = """Facts:
{facts}
Answer the question from these facts alone. One answer a line, no other text.
Question: {question}"""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """`url` is that of the API up to and without `/chat/completions`."""

    url: str
    model: str
    relations: tuple[str, ...] = ()
    """What may be proposed; empty: whatever parses."""
    key: str | None = field(default=None, repr=False)
    k: int = 3
    most_facts: int = 200
    timeout: float = DEFAULT_TIMEOUT_SECONDS

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        text = self._ask(PROPOSE.format(relations=self._relations_text(), k=self.k, topic=topic, question=question))
        found = [query for line in _lines(text) if (query := self._proposal(line)) is not None]
        return _weighted(found[: self.k])

    def _relations_text(self) -> str:
        """As path queries spell them."""
        return ", ".join(render_path(OneEdge(name)) for name in self.relations) or "unknown"

    def _proposal(self, line: str) -> PathQuery | None:
        try:
            query = path_query(line)
        except QueryError:
            return None
        known = not self.relations or all(relation in self.relations for relation in query.relations())
        return query if known else None

    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        facts = facts_of(paths, self.most_facts)
        if not facts:
            return []
        text = self._ask(ANSWER.format(facts="\n".join(facts), question=question))
        return list(dict.fromkeys(_lines(text)))

    def _ask(self, prompt: str) -> str:
        body = {"model": self.model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                found: Any = json.loads(response.read(_MOST_BYTES))
            return _text(found["choices"][0]["message"]["content"])
        except (OSError, ValueError, LookupError, TypeError, http.client.HTTPException) as error:
            raise EnvironmentFault(
                "ENDPOINT_FAILED",
                f"the model at {self.url} gave no answer: {error}",
                hint="it must speak the OpenAI protocol for chat completions; is the address up to /chat/completions?",
            ) from None


def _text(content: Any) -> str:
    """None stands for a refusal."""
    if content is not None and not isinstance(content, str):
        raise TypeError(f"its content is no text but {content.__class__.__name__}")
    return content or ""


def _lines(text: str) -> list[str]:
    """The lines of an answer without bullets and numbers."""
    clean = (_BULLET.sub("", line.strip(), count=1) for line in text.splitlines())
    return [line for line in clean if line]


def _weighted(queries: Sequence[PathQuery]) -> list[PathQuery]:
    """Earlier proposals weigh more: 1, 1/2, 1/3."""
    return [replace(query, weight=1 / (place + 1)) for place, query in enumerate(queries)]
