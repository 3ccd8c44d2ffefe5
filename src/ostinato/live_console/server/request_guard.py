"""Every request of the page -> let through, or refused by name. The page has no other door.

- The Host header must name the console. Otherwise another site could point its name at this machine (DNS rebinding).
- A request with an Origin header must come from the console's own page. A link of another page may open the page
  itself, which holds no data and can't be framed.
- Reading needs the token unless the console is bound to a loopback address. Writing always needs it.
- A Content-Security-Policy lets the page load nothing from elsewhere, and run no script but its own file.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from ostinato.errors import OstinatoError, QueryError

TOKEN_HEADER = "x-ostinato-token"
MOST_BYTES = 256 * 1024
"""Of the body of a request."""
_DATA = "/api/"
"""The addresses with data. The page, its style and its scripts hold none."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Door:
    """The names under which the console may be called, and its token."""

    token: str
    hosts: frozenset[str]
    """Values of the Host header, in lower case, with the port. None are known of a console that is bound to all
    addresses of its machine: there, the token alone protects the data from other sites."""
    is_loopback: bool

    @staticmethod
    def at(host: str, port: int, token: str) -> Door:
        """The door of a console that is bound to a host and a port.

        >>> sorted(Door.at("127.0.0.1", 8765, "t").hosts)
        ['127.0.0.1:8765', '[::1]:8765', 'localhost:8765']
        """
        names = ["127.0.0.1", "localhost", "::1"] if is_loopback(host) else []
        names += [] if host in ("0.0.0.0", "::", "") else [host]
        hosts = frozenset(f"{_bracketed(name.lower())}:{port}" for name in names)
        return Door(token, hosts, is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("console.example")
    (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


class RequestGuard:
    """ASGI middleware: checks each request, and adds the headers that keep the page to itself."""

    def __init__(self, app: App, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # the console has no web sockets
            raise QueryError("REQUEST_REFUSED", f"the console doesn't speak {scope['type']}")
        refused = self.refusal(scope)
        if refused is not None:
            await _refuse(refused, _with_headers(send))
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def refusal(self, scope: Scope) -> tuple[int, OstinatoError] | None:
        """The status and the error of a request that isn't allowed."""
        headers = _headers(scope)
        host = headers.get("host", "").lower()
        if self._door.hosts and host not in self._door.hosts:
            return 421, QueryError("HOST_REFUSED", "the console isn't called by this name", hint="--host names it")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return 403, QueryError("ORIGIN_REFUSED", "another site can't use the console")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not _opens_page(scope, headers):
            return 403, QueryError("ORIGIN_REFUSED", "another site can't use the console")
        is_write = scope["method"] not in ("GET", "HEAD")
        needs_token = is_write or (scope["path"].startswith(_DATA) and not self._door.is_loopback)
        if needs_token and not hmac.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._door.token.encode()):
            hint = "open the address that the console printed at its start; it holds the token"
            return 401, QueryError("TOKEN_NEEDED", "this needs the token of the console", hint=hint)
        if is_write and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, QueryError("REQUEST_REFUSED", "the console takes JSON only")
        return None


def _opens_page(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether the browser opens the page in a tab, from a link: a notebook is another site."""
    kind = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return scope["method"] == "GET" and scope["path"] == "/" and kind == ("navigate", "document")


def _headers(scope: Scope) -> dict[str, str]:
    """By name in lower case. A header that comes twice counts as one that no check lets through."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        headers[key] = value.decode("latin-1") if key not in headers else "\0"
    return headers


def _limited(receive: Receive) -> Receive:
    """The body, up to a limit."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise QueryError("REQUEST_REFUSED", f"the request is longer than {MOST_BYTES:,} bytes")
        return message

    return limited


def _with_headers(send: Send) -> Send:
    added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = [(name, value) for name, value in message.get("headers", ()) if name.decode() not in _HEADERS]
            message = {**message, "headers": [*given, *added]}
        await send(message)

    return sending


async def _refuse(refused: tuple[int, OstinatoError], send: Send) -> None:
    status, error = refused
    body = json.dumps({"error": {"code": error.code, "message": error.message, "hint": error.hint or ""}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
