"""`ostinato console`: a local web page that shows a running stream."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.cli.failures import UsageFault
from ostinato.cli.terminal import accent, bold, say, visible

if TYPE_CHECKING:
    from ostinato.live_console.server.console_server import Console
    from ostinato.live_console.sources.page_settings import Sources

_SOURCES = ("log", "matches", "metrics", "states", "input")


def add_console_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `console`."""
    sources = parser.add_argument_group("sources")
    sources.add_argument("--log", type=Path, metavar="DIR", help="change log of the rules; the page can write to it")
    sources.add_argument("--matches", type=Path, metavar="DIR", help="sink of the stream: Parquet or JSON lines")
    sources.add_argument("--metrics", type=Path, metavar="FILE", help="metrics that ost.stream_metrics writes")
    sources.add_argument("--states", type=Path, metavar="DIR", help="rows of ost.stream_state as JSON lines")
    sources.add_argument("--input", type=Path, metavar="PATH", help="rows to test rules on, and to draw matches on")
    sources.add_argument(
        "--keys", metavar="COLUMNS", help="key columns of the rules; '' for none (default: those of the sink)"
    )
    sources.add_argument("--time", metavar="COLUMNS", help="order of the rules (default: the only column of times)")
    sources.add_argument(
        "--demo", action="store_true", help="show generated trades: in process at first, then on Spark"
    )
    server = parser.add_argument_group("server")
    server.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    server.add_argument("--port", type=int, default=8765, help="port; 0 takes a free one (default: %(default)s)")


def run_console(options: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C or SIGTERM."""
    if not 0 <= options.port <= 65_535:
        raise UsageFault("INVALID_OPTION", f"--port is a number from 0 to 65,535, not {options.port}")
    given = [name for name in _SOURCES if getattr(options, name) is not None]
    if options.demo:
        if given:
            raise UsageFault("INVALID_OPTION", f"--demo has its own data, so --{given[0]} can't be given")
        with _ending_on_sigterm():
            return _demo(options)
    if not any(name in given for name in ("log", "matches", "metrics")):
        raise UsageFault(
            "CONSOLE_NEEDS_SOURCES",
            "the console needs at least one of --log, --matches and --metrics",
            hint="ostinato console --demo shows one without any",
        )
    from ostinato.live_console.rules.rule_terms import RuleTerms
    from ostinato.live_console.server.console_server import open_console
    from ostinato.live_console.sources.page_settings import Sources

    keys = None if options.keys is None else _names("--keys", options.keys) if options.keys else ()
    time = () if options.time is None else _names("--time", options.time)
    sources = Sources(options.log, options.matches, options.metrics, options.states, options.input)
    with _ending_on_sigterm():
        console = open_console(sources, RuleTerms(keys, time), host=options.host, port=options.port)
        return _serve(console, sources, options.host)


def _names(option: str, words: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in words.split(","))
    if not all(names):
        raise UsageFault("INVALID_OPTION", f"{option} names columns, separated by commas, not '{words}'")
    return names


def _demo(options: argparse.Namespace) -> int:
    from ostinato.live_console.demo.console_demo import DEMO_TERMS, Demo
    from ostinato.live_console.server.console_server import open_console

    with tempfile.TemporaryDirectory(prefix="ostinato-console-", ignore_cleanup_errors=True) as folder:
        demo = Demo(Path(folder))
        sources = demo.first_sources()
        console = open_console(sources, DEMO_TERMS, host=options.host, port=options.port, each_round=demo.next_sources)
        try:
            demo.start()
            return _serve(console, sources, options.host)
        finally:
            demo.stop()


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """SIGTERM, as service managers send it, ends the console like Ctrl-C: temporary folders and the demo's Spark end
    with it. A second one doesn't disturb that."""
    if threading.current_thread() is not threading.main_thread():  # only there, Python takes signals
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _serve(console: Console, sources: Sources, host: str) -> int:
    from ostinato.live_console.server.request_guard import is_loopback

    print(bold("Ostinato console") + (f": {sources.note}" if sources.note else ""))
    print(f"    {accent(visible(console.address))}")
    print("Open this address in a browser. It holds the token that saving needs. Ctrl-C stops the console.", flush=True)
    if not is_loopback(host):
        words = "other machines can reach the console, and it speaks plain HTTP: put a proxy with TLS in front of it"
        say(f"warning: {words}", sys.stderr)
    try:
        console.run()
    except KeyboardInterrupt:
        print("stopped")
    return 0
