"""HTTP: from a request to an operation, and from its answer or refusal to the envelope."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.openapi import document
from holdfast.failover.api.operations import OPERATIONS, Operation
from holdfast.failover.api.wire import Envelope, success
from holdfast.kernel import Conflict, Corrupt, HoldfastError, Invalid
from holdfast.server.calls import Call, decode
from holdfast.server.rates import Rates, Strangers
from holdfast.server.tokens import Principal, Tokens, allow

LOG = logging.getLogger("holdfast")
RETRY_AFTER_S: Final = 1.0
WAITING_MAX: Final = 128
"""For each thread: all agents of a server may come at once, after it or the database was away."""
ENCODER = msgspec.json.Encoder()

Handler = Callable[[Call], object]
"""Synchronous: runs on a thread of the pool, and may raise Refusal."""
AsyncHandler = Callable[[Call], Awaitable[object]]
"""Runs on the event loop, and waits for nothing but other tasks."""
Counted = Callable[[str, int], None]
"""Told of each request: the operation's name, the HTTP status."""


class Pool:
    """A few threads for synchronous work; when very many wait for one, the caller is sent away."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="desk")
        self._free = threads * WAITING_MAX

    async def run(self, work: Callable[[], Any]) -> Any:
        if self._free <= 0:
            raise Refusal(Code.UNAVAILABLE, "the server is busy: try again", retry_after_s=RETRY_AFTER_S)
        self._free -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._free += 1

    def stop(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class Http:
    """The routes of all operations."""

    def __init__(
        self,
        *,
        tokens: Tokens,
        rates: Rates,
        strangers: Strangers,
        pool: Pool,
        handlers: Mapping[str, Handler],
        async_handlers: Mapping[str, AsyncHandler],
        counted: Counted,
        version: str,
    ) -> None:
        self._tokens, self._rates, self._pool, self._counted = tokens, rates, pool, counted
        self._strangers = strangers
        self._handlers, self._async_handlers = handlers, async_handlers
        self._document = ENCODER.encode(document(version))
        assert {operation.name for operation in OPERATIONS} == {*handlers, *async_handlers}

    def starlette(self, *more: Route, lifespan: Any = None) -> Starlette:
        routes = [self._route(operation) for operation in OPERATIONS]
        made = Starlette(
            routes=[*routes, Route("/openapi.json", self._openapi), *more],
            lifespan=lifespan,
            exception_handlers={HTTPException: _no_such_route},
        )
        # A redirect is no answer of this API, and names the Host that it was sent.
        made.router.redirect_slashes = False
        return made

    def _route(self, operation: Operation) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                data = await self._answer(operation, request)
            except Refusal as refusal:
                return self._refused(operation, refusal)
            except HoldfastError as error:
                return self._refused(operation, _translated(error))
            except ClientDisconnect:
                gone = Refusal(Code.INVALID_REQUEST, "the caller has gone before its request was whole")
                return self._refused(operation, gone)
            except Exception:
                LOG.exception("%s failed", operation.name)
                broken = Refusal(Code.UNAVAILABLE, "the server could not do this; its log says why")
                return self._refused(operation, broken)
            self._counted(operation.name, 200)
            return _json(200, success(data))

        return Route(operation.path, endpoint, methods=[operation.method])

    async def _answer(self, operation: Operation, request: Request) -> object:
        principal = await self._principal(request)
        allow(operation, principal)
        if principal.client is not None:
            self._rates.take(principal.client_id, principal.client.requests_per_second_max)
        call = await decode(operation, request, principal)
        if operation.name in self._async_handlers:
            return await self._async_handlers[operation.name](call)
        handler = self._handlers[operation.name]
        return await self._pool.run(lambda: handler(call))

    async def _principal(self, request: Request) -> Principal:
        header = request.headers.get("authorization", "")
        known = self._tokens.remembered(header)
        if known is not None:
            return known
        if self._tokens.expected(header):
            return await self._looked_up(header)
        paid = self._strangers.take(request.client.host if request.client else "")
        try:
            found = await self._looked_up(header)
        except Refusal as refusal:
            if refusal.code is not Code.UNAUTHENTICATED:
                self._strangers.give_back(paid)
            raise
        except HoldfastError:  # the database is away: that is not the caller's doing
            self._strangers.give_back(paid)
            raise
        self._strangers.give_back(paid)
        return found

    async def _looked_up(self, header: str) -> Principal:
        found: Principal = await self._pool.run(lambda: self._tokens.find(header))
        return found

    def _refused(self, operation: Operation, refusal: Refusal) -> Response:
        self._counted(operation.name, refusal.code.http_status)
        return refused(refusal)

    async def _openapi(self, request: Request) -> Response:
        return Response(self._document, media_type="application/json")


def refused(refusal: Refusal) -> Response:
    headers = {}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(refusal.retry_after_s))
    elif refusal.code.http_status == 503:
        headers["Retry-After"] = str(math.ceil(RETRY_AFTER_S))
    if refusal.code.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    envelope = Envelope(
        status="error", data=dict(refusal.details) or None, error=refusal.message, code=refusal.code
    )
    return _json(refusal.code.http_status, envelope, headers)


def _translated(error: HoldfastError) -> Refusal:
    """What the database answered, for the caller.  Details of the database stay in the log."""
    match error:
        case Conflict():
            return Refusal(Code.VERSION_CONFLICT, "the group has changed meanwhile: read it and try again")
        case Invalid():
            return Refusal(Code.INVALID_REQUEST, str(error))
        case Corrupt():
            LOG.error("%s", error)
            return Refusal(Code.UNAVAILABLE, "what is stored makes no sense; the server's log names it")
        case _:
            LOG.warning("%s: %s", type(error).__name__, error)
            return Refusal(
                Code.UNAVAILABLE, "the database did not answer in time", retry_after_s=RETRY_AFTER_S
            )


async def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return refused(
            Refusal(Code.METHOD_NOT_ALLOWED, f"{request.method} is not allowed here; use {allowed}")
        )
    return refused(Refusal(Code.NOT_FOUND, f"there is no {request.url.path}; /openapi.json lists all routes"))


def _json(status: int, envelope: Envelope, headers: Mapping[str, str] | None = None) -> Response:
    return Response(ENCODER.encode(envelope), status, headers=headers, media_type="application/json")
