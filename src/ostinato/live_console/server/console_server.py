"""A console's parts, put together and served: sources in, a running web server out."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.errors import EnvironmentFault
from ostinato.live_console.model.live_model import LiveModel
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.rules.rule_desk import RuleDesk
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.server.request_guard import Door
from ostinato.live_console.sources.page_settings import Sources

if TYPE_CHECKING:
    import uvicorn

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
_WIND_DOWN_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Console:
    """A console that is ready to serve. Its socket is bound already."""

    address: str
    """The address to open, with the token behind `#`: browsers don't send that part, and no log has it."""
    model: LiveModel
    server: uvicorn.Server
    bound: socket.socket
    poller: SourcePoller

    def run(self) -> None:
        """Serves until Ctrl-C, or until `stop`."""
        self.poller.start()
        try:
            self.server.run(sockets=[self.bound])
        finally:
            self.poller.stop()
            self.bound.close()

    def stop(self) -> None:
        """Asks the server to end, from another thread."""
        self.server.should_exit = True


def open_console(
    sources: Sources,
    terms: RuleTerms,
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    each_round: Callable[[], Sources | None] = lambda: None,
) -> Console:
    """Binds the socket and builds the application. Raises EXTRA_MISSING, PORT_NOT_FREE."""
    try:
        import uvicorn

        from ostinato.live_console.server.console_app import console_app
    except ImportError as error:
        raise EnvironmentFault(
            "EXTRA_MISSING", f"the console needs the module {error.name}", hint="pip install 'ostinato[console]'"
        ) from None
    bound = _bound(host, port)
    token = secrets.token_urlsafe(24)
    model = LiveModel(sources)
    actual_port = bound.getsockname()[1]
    door = Door.at(host, actual_port, token)
    app = console_app(model, RuleDesk(model, terms), door, lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_WIND_DOWN_SECONDS,
        timeout_keep_alive=5,
    )
    server = uvicorn.Server(config)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    shown = f"[{shown}]" if ":" in shown else shown
    address = f"http://{shown}:{actual_port}/#token={token}"
    return Console(address, model, server, bound, SourcePoller(model, each_round=each_round, keys=terms.keys or ()))


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()  # a browser that is faster than the server waits
    except OSError as error:
        is_unknown = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        raise EnvironmentFault(
            "PORT_NOT_FREE",
            f"the console can't listen on {host}, port {port}: {error.strerror or error}",
            hint="--host names an address of this machine" if is_unknown else "--port 0 takes any free port",
        ) from None
    return bound
