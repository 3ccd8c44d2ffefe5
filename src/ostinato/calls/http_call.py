"""An HTTP request -> the bytes of its reply, or the reason why there are none. One deadline holds for the whole call.

The request may hold a secret of the user, and a server may repeat it. So no reason contains text of the request or the
server. The request runs in a thread of its own, so that the tracebacks that users see have no frame with the secret.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class NoReply:
    """The reason why a call has no reply, as the rest of a sentence about the server.

    `status` is that of the answer, if one came. `retry_after` is the text of its header: the server wrote it, so nobody
    shows it.
    """

    reason: str
    status: int | None = None
    retry_after: str | None = field(default=None, repr=False)


def call(request: urllib.request.Request, *, timeout_seconds: float, most_bytes: int) -> bytes | NoReply:
    """The reply to an http or https request. Redirects aren't followed: they would carry the headers elsewhere.

    The deadline covers the lookup of the host, connecting, sending and the whole reply.
    """
    running = _HttpCall(request, timeout_seconds, most_bytes)
    thread = threading.Thread(target=running.run, name="ostinato-http-call", daemon=True)
    thread.start()
    try:
        thread.join(min(timeout_seconds, threading.TIMEOUT_MAX))
    finally:
        running.end(running.too_late)
    assert running.outcome is not None
    return running.outcome


class _HttpCall:
    """A request under way in a thread. The thread calls `end` with a reply or a failure, the caller when time is up.
    The first call sets the outcome."""

    def __init__(self, request: urllib.request.Request, timeout_seconds: float, most_bytes: int) -> None:
        self.outcome: bytes | NoReply | None = None
        self.too_late = NoReply(f"gave no reply within {timeout_seconds:g} s")
        self._request = request
        self._timeout_seconds = timeout_seconds
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def run(self) -> None:
        try:
            with _opener(self._connected).open(self._request, timeout=self._timeout_seconds) as response:
                self.end(self._read(response))
        except Exception as error:  # the caller reports every kind of error, without its text
            self.end(self._failure(error))

    def _read(self, response: http.client.HTTPResponse) -> bytes | NoReply:
        reply = bytearray()
        while piece := response.read1(_READ_BYTES):
            reply += piece
            if len(reply) > self._most_bytes:
                return NoReply(f"gave a reply of more than {self._most_bytes:,} bytes", response.status)
        return bytes(reply)

    def _connected(self, opened: socket.socket) -> None:
        """Remembers the socket before anything is sent; a call that has ended sends nothing."""
        with self._lock:
            if self.outcome is not None:
                raise TimeoutError
            self._socket = opened

    def end(self, outcome: bytes | NoReply) -> None:
        """Shuts the connection, so that the thread ends too."""
        with self._lock:
            if self.outcome is None:
                self.outcome = outcome
            if self._socket is not None:
                with contextlib.suppress(OSError):  # closed already
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _failure(self, error: Exception) -> NoReply:
        if isinstance(error, urllib.error.HTTPError):
            redirects = " (a redirect, which isn't followed)" if 300 <= error.code < 400 else ""
            retry_after = error.headers.get("Retry-After")
            return NoReply(f"answered with status {error.code}{redirects}", error.code, retry_after)
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, OSError) and cause.strerror:
            return NoReply(f"can't be reached: {cause.strerror}")  # text of the operating system, not of the server
        if isinstance(cause, TimeoutError):
            return self.too_late
        return NoReply(f"can't be asked ({cause.__class__.__name__})")


# --- connections ------------------------------------------------------------------------------------------------------


def _opener(connected: Callable[[socket.socket], None]) -> urllib.request.OpenerDirector:
    """An opener for http, https, proxies and status codes only: no redirects, files, FTP or data."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Connections(connected),
    ):
        opener.add_handler(handler)
    return opener


class _Connections(urllib.request.AbstractHTTPHandler):
    """urllib's handler of http and https, which reports each socket that it opens."""

    def __init__(self, connected: Callable[[socket.socket], None]) -> None:
        super().__init__()
        self._connected = connected

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_PlainConnection, connected=self._connected), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_TlsConnection, connected=self._connected), request)

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_


class _PlainConnection(http.client.HTTPConnection):
    def __init__(self, *arguments: Any, connected: Callable[[socket.socket], None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connected = connected

    def connect(self) -> None:
        super().connect()
        self._connected(self.sock)


class _TlsConnection(_PlainConnection, http.client.HTTPSConnection):
    """A connection with TLS and certificate checks."""
