"""Options of the webhook sink -> one checked value. Secrets are named there, and read where the requests are sent.

Spark shows options: in the plans of a Connect server, in logs, in the pages of its user interface. So an option never
holds a secret. It names an environment variable or a file of the executor that does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ostinato.errors import EnvironmentFault, QueryError
from ostinato.spark.sinks.sink_options import OptionTexts

MOST_ROWS_PER_REQUEST = 100_000
MOST_ATTEMPTS = 100
IDEMPOTENCY_KEY = "idempotency-key"
BODIES = {"array": "application/json", "lines": "application/x-ndjson", "object": "application/json"}
"""Form of a request's body -> its content type."""
_SENSITIVE = re.compile(r"auth|cookie|token|secret|password|credential|signature|(^|[-_])key($|[-_])|apikey")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[!-~](?:[ !-~]*[!-~])?")
_VISIBLE = re.compile(r"[!-~]+")
"""ASCII without blanks."""
_OF_THE_SINK = (IDEMPOTENCY_KEY, "content-length", "host", "transfer-encoding", "connection")
_LARGEST_SECRET_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Value:
    """A text, or the name of a variable or file that holds it. Nothing shows a text that was read from there."""

    option: str
    kind: str
    text: str

    def read(self, environment: Mapping[str, str]) -> str:
        """The text. Raises SECRET_MISSING without showing anything but the name."""
        if self.kind == "text":
            return self.text
        if self.kind == "env":
            value = environment.get(self.text, "")
        else:
            value = self._of_file()
        if not value.strip():
            where = "environment variable" if self.kind == "env" else "file"
            raise EnvironmentFault(
                "SECRET_MISSING",
                f"{self.option} names the {where} {self.text}, which is missing or empty on this executor",
                hint="executors get variables by spark.executorEnv.NAME, or use a file that is mounted there",
            )
        return value.strip()

    def _of_file(self) -> str:
        try:
            with Path(self.text).open("rb") as file:
                return file.read(_LARGEST_SECRET_BYTES).decode("ascii", "replace")
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class Target:
    """The address and the headers of requests, with their secrets: for the process that sends them."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)

    @property
    def host(self) -> str:
        """Scheme, host and port. Paths and queries of webhooks are often secrets."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc}"


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """All options of a webhook, checked as far as that is possible without its secrets."""

    url: Value
    headers: Mapping[str, Value]
    rows_per_request: int
    body: str
    key: tuple[str, ...] | None
    """The columns of the idempotency key; None: `match_id`, if there is such a column."""
    timeout_seconds: float
    attempts: int
    first_wait_seconds: float
    longest_wait_seconds: float
    dead_letters: str | None

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> WebhookOptions:
        """Raises INVALID_OPTION, or SECRET_IN_OPTION for a header that looks like one."""
        options = OptionTexts(texts)
        body = options.one_of("body", "array", tuple(BODIES))
        key = options.text("key")
        read = cls(
            url=_url(options),
            headers=_headers(options),
            rows_per_request=_rows_per_request(options, body),
            body=body,
            key=None if key is None else tuple(name.strip() for name in key.split(",")),
            timeout_seconds=options.seconds("timeout", "30 seconds"),
            attempts=options.whole_number("attempts", 5, most=MOST_ATTEMPTS),
            first_wait_seconds=options.seconds("first_wait", "1 second"),
            longest_wait_seconds=options.seconds("longest_wait", "1 minute"),
            dead_letters=options.folder("dead_letters"),
        )
        options.refuse_unknown()
        return read

    def target(self, environment: Mapping[str, str] | None = None) -> Target:
        """The address and the headers, read on the machine that sends the requests."""
        variables = os.environ if environment is None else environment
        url = self.url.read(variables)
        check_url(url, self.url.option)
        headers = {"content-type": BODIES[self.body]}
        for name, value in self.headers.items():
            headers[name] = value.read(variables)
            if not _HEADER_VALUE.fullmatch(headers[name]):
                message = f"{value.option} isn't one line of visible ASCII, so no header can carry it"
                raise QueryError("INVALID_OPTION", message)
        return Target(url, headers)


def check_url(url: str, option: str = "url") -> None:
    """Raises INVALID_OPTION. The message doesn't show the address: it may contain a secret."""
    hint = "such as https://alerts.example/hooks/42"
    try:
        address = urlsplit(url)
        is_address = bool(_VISIBLE.fullmatch(url)) and bool(address.hostname) and address.port != 0
    except ValueError:
        is_address = False
    if not is_address or address.scheme not in ("http", "https"):
        raise QueryError("INVALID_OPTION", f"{option} isn't an address that begins with http:// or https://", hint=hint)
    if "@" in address.netloc:
        message = f"{option} holds a user name or password, which errors and plans would show"
        raise QueryError("SECRET_IN_OPTION", message, hint="send it as a header: header_env.authorization=VARIABLE")
    if "#" in url:
        raise QueryError("INVALID_OPTION", f"{option} ends before '#', which isn't sent", hint=hint)


def _url(options: OptionTexts) -> Value:
    given = [
        Value(option, kind, text)
        for option, kind in (("url", "text"), ("url_env", "env"), ("url_file", "file"))
        if (text := options.text(option)) is not None
    ]
    if len(given) != 1:
        message = "a webhook has one address: url, url_env (a variable that holds it) or url_file"
        raise QueryError("INVALID_OPTION", message, hint='.option("url", "https://alerts.example/hooks/42")')
    if given[0].kind == "text":
        check_url(given[0].text)
    return given[0]


def _headers(options: OptionTexts) -> dict[str, Value]:
    headers: dict[str, Value] = {}
    for prefix, kind in (("header", "text"), ("header_env", "env"), ("header_file", "file")):
        for name, text in options.named(prefix).items():
            option = f"{prefix}.{name}"
            if not _HEADER.fullmatch(name) or name in _OF_THE_SINK:
                raise QueryError("INVALID_OPTION", f"{option}: the sink can't send a header of this name")
            if name in headers:
                raise QueryError("INVALID_OPTION", f"{option}: the header is given twice")
            if kind == "text" and _SENSITIVE.search(name):
                raise QueryError(
                    "SECRET_IN_OPTION",
                    f"{option} would hold a secret, and Spark shows options in plans and logs",
                    hint=f"header_env.{name}=VARIABLE or header_file.{name}=PATH, read on the executors",
                )
            headers[name] = Value(option, kind, text)
    return headers


def _rows_per_request(options: OptionTexts, body: str) -> int:
    rows = options.whole_number("rows_per_request", 1 if body == "object" else 100, most=MOST_ROWS_PER_REQUEST)
    if body == "object" and rows != 1:
        message = "body=object sends each row as one object, so rows_per_request is 1"
        raise QueryError("INVALID_OPTION", message, hint="body=array or body=lines sends several rows together")
    return rows
