"""A model and a desk of rules -> the web application of the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

import pyarrow as pa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ostinato.calls.foreign_errors import error_of_ours
from ostinato.calls.options import a_text, true_or_false, whole_number
from ostinato.errors import OstinatoError, QueryError, unwrap
from ostinato.live_console.model.live_model import LiveModel
from ostinato.live_console.rules.rule_desk import RuleDesk
from ostinato.live_console.rules.rule_trial import error_as_json
from ostinato.live_console.server.event_stream import events, read_cursor
from ostinato.live_console.server.request_guard import App, Door, RequestGuard

_MOST_PAGES = 32
_SCRIPTS = ("connection", "console", "details", "tiles", "timeline", "virtual_list", "words")
PAGE_FILES = {
    "/": "page.html",
    "/console.css": "console.css",
    "/console.svg": "console.svg",
    **{f"/{name}.js": f"{name}.js" for name in _SCRIPTS},
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def console_app(model: LiveModel, desk: RuleDesk, door: Door, is_closing: Callable[[], bool] = lambda: False) -> App:
    """The application, guarded. Every answer of `/api` is JSON, an event stream or a picture. Event streams end when
    the server is closing."""
    pages = _OpenPages(model, is_closing)
    routes = [
        *(Route(path, _static(name)) for path, name in PAGE_FILES.items()),
        Route("/api/events", pages.listen),
        Route("/api/rows/{number:int}", _answering(lambda request: desk.details(request.path_params["number"]))),
        Route("/api/rows/{number:int}/picture", _drawing(lambda request: _match_picture(desk, request))),
        Route("/api/rule", _answering(lambda request: desk.text(_asked_rule(request)))),
        Route("/api/rule/picture", _drawing(lambda request: desk.automaton_picture(_asked_rule(request)))),
        Route("/api/rule/test", _posting(_test(desk)), methods=["POST"]),
        Route("/api/rule/save", _posting(_save(desk)), methods=["POST"]),
    ]
    return RequestGuard(Starlette(routes=routes, exception_handlers={Exception: _defect}), door)


class _OpenPages:
    """The pages that listen, up to a limit."""

    def __init__(self, model: LiveModel, is_closing: Callable[[], bool]) -> None:
        self._model = model
        self._is_closing = is_closing
        self._count = 0

    async def listen(self, request: Request) -> Response:
        """A stream of differences since the last event that the page got."""
        if self._count >= _MOST_PAGES:
            error = QueryError("TOO_MANY_PAGES", f"{self._count} pages are open already", hint="close one of them")
            return JSONResponse({"error": error_as_json(error)}, status_code=503)
        cursor = read_cursor(request.headers.get("last-event-id", ""))
        stream = events(self._model, cursor, is_closing=self._is_closing)
        return StreamingResponse(self._counted(stream), media_type="text/event-stream")

    async def _counted(self, stream: AsyncIterator[str]) -> AsyncIterator[str]:
        self._count += 1
        try:
            async for event in stream:
                yield event
        finally:
            self._count -= 1


def _static(name: str) -> Callable[[Request], Response]:
    def answer(_: Request) -> Response:
        content = files("ostinato.live_console").joinpath("page", name).read_bytes()
        return Response(content, headers={"content-type": _TYPES[name.rpartition(".")[2]]})

    return answer


def _asked_rule(request: Request) -> str:
    return a_text("id", request.query_params.get("id"), hint="the name of a rule", may_be_empty=True)


def _match_picture(desk: RuleDesk, request: Request) -> str:
    return desk.match_picture(request.path_params["number"])


def _answering(work: Callable[[Request], Any]) -> Callable[[Request], Response]:
    """Starlette runs it in a thread of its pool."""

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(work(request))
        except Exception as error:
            return _error(error)

    return answer


def _drawing(work: Callable[[Request], str]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        try:
            return Response(work(request), headers={"content-type": "image/svg+xml"})
        except Exception as error:
            return _error(error)

    return answer


def _posting(work: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            body = await request.json()
        except (ValueError, RecursionError) as error:
            return _error(QueryError("REQUEST_REFUSED", f"the request isn't JSON: {error}"))
        if not isinstance(body, dict):
            return _error(QueryError("REQUEST_REFUSED", "the request is no JSON object"))
        try:
            return JSONResponse(await run_in_threadpool(work, body))
        except Exception as error:
            return _error(error)

    return answer


def _test(desk: RuleDesk) -> Callable[[dict[str, Any]], Any]:
    def test(body: dict[str, Any]) -> Any:
        try:
            return desk.test(
                a_text("id", body.get("id"), may_be_empty=True), a_text("text", body.get("text"), code="INVALID_RULE")
            )
        except pa.ArrowException as error:  # for example, the order is a column of texts
            reason = str(error).split("\n", 1)[0]
            hint = "--time names a column of times"
            raise QueryError("CONSOLE_NEEDS_COLUMNS", f"rules can't run on the input: {reason}", hint=hint) from None

    return test


def _save(desk: RuleDesk) -> Callable[[dict[str, Any]], Any]:
    def save(body: dict[str, Any]) -> Any:
        if body.get("confirmed") is not True:
            raise QueryError("CONFIRMATION_NEEDED", "a change of a rule needs a confirmation")
        return desk.save(
            a_text("id", body.get("id"), hint="the name of the rule", code="INVALID_RULE"),
            a_text("text", body.get("text"), may_be_empty=True),
            enabled=true_or_false("enabled", body.get("enabled")),
            seen_version=whole_number("seen_version", body.get("seen_version"), least=0),
        )

    return save


def _error(error: Exception) -> Response:
    """Our own errors have a code and a hint. Any other is a defect, whose text may hold anything: it stays here."""
    ours: OstinatoError | None = unwrap(error) or error_of_ours(error)
    if ours is None:
        defect = QueryError("INTERNAL_ERROR", f"the console failed with {type(error).__name__}; please report it")
        return JSONResponse({"error": error_as_json(defect)}, status_code=500)
    return JSONResponse({"error": error_as_json(ours)}, status_code=400)


async def _defect(_: Request, error: Exception) -> Response:
    return _error(error)
