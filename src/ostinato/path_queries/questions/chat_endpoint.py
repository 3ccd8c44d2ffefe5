"""A language model behind an OpenAI-compatible endpoint, as proposer of path queries and as answerer.

Ostinato calls a model only if the user configured one. It never executes the reply: it parses each line as a path
query. It drops lines that don't parse, and lines that could walk a relation outside the list of allowed ones.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from ostinato.calls.http_call import NoReply, call
from ostinato.calls.options import a_text, shown, whole_number
from ostinato.errors import EnvironmentFault, QueryError
from ostinato.path_queries.language.path_parser import path_query, render_path
from ostinato.path_queries.language.path_query import OneEdge, PathQuery, edges
from ostinato.path_queries.path_facts import facts_of

DEFAULT_TIMEOUT_SECONDS = 60.0
MOST_TIMEOUT_SECONDS = 1_000_000
"""Sockets of some systems can't wait much longer."""
LARGEST_REPLY_BYTES = 1 << 24
_MOST_PROPOSED_LINES = 1_000
"""Number of lines of a reply that are read as proposals. Later lines are ignored."""
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_VISIBLE = re.compile(r"[!-~]+")
"""ASCII without blanks: the characters of URLs and keys."""

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
    """`url`: the address of the API, without `/chat/completions`. It starts with http or https. Redirects fail.

    The key never appears in a repr, an error or a traceback. A pickle of this object contains the key, because Spark's
    workers call the model.
    """

    url: str
    model: str
    relations: tuple[str, ...] = ()
    """The relations that proposals may walk. Proposals with `.` are dropped: it walks any relation. Empty: no limit."""
    key: str | None = field(default=None, repr=False)
    k: int = 3
    most_facts: int = 200
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    """Seconds for the whole call, from the lookup of the host to the last byte of the reply."""

    def __post_init__(self) -> None:
        checks = (_url_problem(self.url), _key_problem(self.key), _relations_problem(self.relations))
        for problem, hint in checks:
            if problem is not None:  # the message doesn't show the value: it may contain a secret
                raise QueryError("INVALID_OPTION", problem, hint=hint)
        object.__setattr__(self, "relations", tuple(self.relations))
        a_text("model", self.model, hint="the name of a model")
        whole_number("k", self.k)
        whole_number("most_facts", self.most_facts)
        seconds = self.timeout
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= MOST_TIMEOUT_SECONDS:
            message = f"timeout is a number of seconds above 0, at most {MOST_TIMEOUT_SECONDS:,}, not {shown(seconds)}"
            raise QueryError("INVALID_OPTION", message)

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        """Asks the model for path queries. Lines that are no path query over the given relations are left out."""
        text = self._ask(PROPOSE.format(relations=self._relations_text(), k=self.k, topic=topic, question=question))
        lines = _lines(text)[:_MOST_PROPOSED_LINES]
        proposals = (query for line in lines if (query := self._proposal(line)) is not None)
        return _weighted(list(islice(proposals, self.k)))

    def _relations_text(self) -> str:
        """The relations as path queries write them."""
        return ", ".join(render_path(OneEdge(name)) for name in self.relations) or "unknown"

    def _proposal(self, line: str) -> PathQuery | None:
        try:
            query = path_query(line)
        except QueryError:
            return None
        walked = {edge.relation for edge in edges(query.expression)}  # None: any relation
        return query if not self.relations or walked <= set(self.relations) else None

    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        """Asks the model for answers from the facts of the paths. Without paths it isn't asked."""
        facts = facts_of(paths, self.most_facts)
        if not facts:
            return []
        text = self._ask(ANSWER.format(facts="\n".join(facts), question=question))
        return list(dict.fromkeys(_lines(text)))

    def _ask(self, prompt: str) -> str:
        content = self._reply(prompt)
        if isinstance(content, NoReply):  # raised here, where no variable holds the request or the reply
            raise EnvironmentFault(
                "ENDPOINT_FAILED",
                f"the model at {urlsplit(self.url).netloc} {content.reason}",
                hint="it must speak the OpenAI protocol for chat completions; the url ends before /chat/completions",
            )
        return content

    def _reply(self, prompt: str) -> str | NoReply:
        reply = call(self._request(prompt), timeout_seconds=self.timeout, most_bytes=LARGEST_REPLY_BYTES)
        return reply if isinstance(reply, NoReply) else _content(reply)

    def _request(self, prompt: str) -> urllib.request.Request:
        body = {"model": self.model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        return urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")


def _content(reply: bytes) -> str | NoReply:
    """The text of the model's reply; empty if it refused."""
    try:
        content: Any = json.loads(reply)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return NoReply("gave a reply that is no chat completion")
    if content is None:
        return ""
    if not isinstance(content, str):
        return NoReply("gave a reply whose content is no text")
    return content.encode(errors="replace").decode()  # JSON can spell half a character, which no column could hold


# --- checks -----------------------------------------------------------------------------------------------------------

_Problem = tuple[str | None, str | None]
"""The problem, and a hint."""


def _url_problem(url: Any) -> _Problem:
    hint = "such as 'https://models.example/v1'"
    if not isinstance(url, str) or not _VISIBLE.fullmatch(url):
        return "url is text of visible ASCII characters", hint
    try:
        address = urlsplit(url)
        port_is_valid = address.port != 0  # reading it raises ValueError where it is no port
    except ValueError:
        return "url isn't a valid address", hint
    if address.scheme not in ("http", "https") or not address.hostname or not port_is_valid:
        return "url is an address that starts with http:// or https://", hint
    if "@" in address.netloc:
        return "url holds a user name or password, which errors would show", "give the secret as key="
    if "?" in url or "#" in url:
        return "url ends with its path: no '?' and no '#'", hint
    return None, None


def _key_problem(key: Any) -> _Problem:
    if key is None or (isinstance(key, str) and _VISIBLE.fullmatch(key)):
        return None, None
    return (
        "key isn't text of visible ASCII characters, so no HTTP header can carry it",
        "a key read from a file may end in a line break: key.strip()",
    )


def _relations_problem(relations: Any) -> _Problem:
    is_list = isinstance(relations, Collection) and not isinstance(relations, str | bytes | Mapping)
    if is_list and all(isinstance(name, str) for name in relations):
        return None, None
    return "relations is a tuple of names", "graph.relations"


# --- replies ----------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """The lines of an answer without bullets and numbers."""
    clean = (_BULLET.sub("", line.strip(), count=1) for line in text.splitlines())
    return [line for line in clean if line]


def _weighted(queries: Sequence[PathQuery]) -> list[PathQuery]:
    """Earlier proposals weigh more: 1, 1/2, 1/3."""
    return [replace(query, weight=1 / (rank + 1)) for rank, query in enumerate(queries)]
