"""One server process, put together: HTTP in front, threads behind, and an orderly end."""

import asyncio
import logging
import os
import random
import secrets
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec
import uvicorn
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.adapters.clock import new_id
from holdfast.app.failover.stores import Stores, open_stores
from holdfast.app.failover.wiring import listener_of, machines_of, policy_of
from holdfast.cloud.notices import Notice
from holdfast.failover.api.codes import Refusal
from holdfast.failover.drive import Driver, Timekeeper, worth_a_look
from holdfast.failover.group import Group, subject_of
from holdfast.failover.ports import Beat, Grant, Report
from holdfast.failover.rules.rule import Policy
from holdfast.failover.settings import Settings
from holdfast.failover.settings.load import address
from holdfast.kernel import Busy, HoldfastError, Invalid, Versioned, Write
from holdfast.server.app import Http, Pool
from holdfast.server.beats import Beats
from holdfast.server.desk import agents, cloud_notices, operators, readers, sweeping, tenants
from holdfast.server.desk.context import Context
from holdfast.server.driving import Driving
from holdfast.server.figures.gauges import gauges
from holdfast.server.figures.metrics import Collector, Figures
from holdfast.server.figures.told import tell
from holdfast.server.groups import Groups
from holdfast.server.heads import BoundedHeads
from holdfast.server.heartbeats import Heartbeats
from holdfast.server.rates import Rates, Strangers
from holdfast.server.restored.high_water import HighWater
from holdfast.server.restored.members import LEARNED_EVERY_S, Members
from holdfast.server.tokens import Tokens
from holdfast.server.waiting import Changes

LOG = logging.getLogger("holdfast")
STOP_WITHIN_S: Final = 5
BACKLOG: Final = 2_048
FORGET_EVERY_S: Final = 600.0
"""So often answers that were kept long enough are dropped."""
ENCODE: Final = msgspec.json.encode

HANDLERS: Final = {
    "register": agents.register,
    "rebalance_notice": agents.rebalance_notice,
    "termination_notice": agents.termination_notice,
    "clients": tenants.clients,
    "new_client": tenants.new_client,
    "tokens": tenants.tokens,
    "new_token": tenants.new_token,
    "end_token": tenants.end_token,
    "enrol": tenants.enrol,
    "agents": readers.agents,
    "agent": readers.agent,
    "primary": readers.primary,
    "instances": readers.instances,
    "instance": readers.instance,
    "replicas": readers.replicas,
    "history": readers.history,
    "why": readers.why,
    "new_agent": operators.new_agent,
    "gone": operators.gone,
    "revive": operators.revive,
    "promote": operators.promote,
    "switch": operators.switch,
    "settings": operators.settings,
    "pause": operators.pause,
    "resume": operators.resume,
    "recover": operators.recover,
    "sweep": sweeping.sweep,
}


def boottime_s() -> float:
    """Goes on during suspend, and never steps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Server:
    """Everything that one process has; `start` and `stop` on its event loop."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self.settings, self.stores = settings, stores
        self.figures = Figures()
        self.owner = f"{socket.gethostname()[:32]}-{secrets.token_hex(4)}"
        store = stores.groups
        self.members = Members(Path(f"{settings.high_water_file}.members"), time.time)
        self._learn_s = float("-inf")
        self.groups = Groups(store)
        self._reports: dict[tuple[str, str], Report] = {}
        policy = policy_of(settings)
        self.high_water = HighWater(Path(settings.high_water_file), policy.term.kept_s)
        self.time = Timekeeper(policy.term, boottime_s, share=settings.revocations_at_once)
        machines, template = machines_of(settings, stores.tenants, self.time.now_s)
        policy = policy_of(settings, template)
        self.driver = Driver(
            store,
            self.time,
            policy,
            machines=machines,
            groups=lambda: self._group_count,
            new_id=new_id,
            random=random.random,
            sleep=time.sleep,
            told=self._told,
        )
        self._group_count = 0
        self._forget_s = time.monotonic() + FORGET_EVERY_S
        self.driving = Driving(
            store,
            self._drive,
            owner=self.owner,
            threads=settings.drivers,
            failed=partial(self.figures.count, "failover_drive_errors"),
            each_sweep=self._survey,
        )
        self.changes = Changes(store, self._changed_anywhere)
        self.heartbeats = Heartbeats(store, policy.term, self._stored)
        self.tokens = Tokens(
            stores.tenants,
            self.time.now_s,
            time.monotonic,
            saw=self.members.saw,
            refused=self.members.refused,
            enrolled=self.members.knows,
        )
        self.strangers = Strangers(time.monotonic)
        self.pool = Pool(settings.threads)
        self.context = self._context(policy)
        self._stopping = threading.Event()
        self.listener = listener_of(settings, self._heard, self._stopping)
        self.beats = Beats(
            heartbeats=self.heartbeats,
            changes=self.changes,
            groups=self.groups,
            read=self._read,
            figures=self.figures,
            now_s=self.time.now_s,
            withheld=self.high_water.withheld,
        )

    def _context(self, policy: Policy) -> Context:
        return Context(
            store=self.stores.groups,
            tenants=self.stores.tenants,
            tokens=self.tokens,
            figures=self.figures,
            policy=policy,
            heartbeat_s=self.settings.heartbeat_s,
            request_timeout_s=self.settings.request_timeout_s,
            look=lambda group: self.time.seen(self.stores.groups, group),
            now_s=self.time.now_s,
            new_id=new_id,
            missing=self.members.missing,
            behind=self.high_water.problem,
            changed=self._changed_here,
        )

    def http(self) -> Http:
        return Http(
            tokens=self.tokens,
            rates=Rates(time.monotonic),
            strangers=self.strangers,
            pool=self.pool,
            handlers={name: partial(handler, self.context) for name, handler in HANDLERS.items()},
            async_handlers={"heartbeat": self.beats.heartbeat, "goal": self.beats.goal},
            counted=lambda name, status: self.figures.count("failover_http_requests", name, str(status)),
            version=version("holdfast"),
        )

    def application(self) -> Any:
        more = Route("/health", self._health), Route("/metrics", self._metrics)
        return self.http().starlette(*more, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, application: object) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        await self.pool.run(self._survey)
        self.changes.start(loop)
        self.heartbeats.start(loop)
        self.driving.start()
        if self.listener is not None:
            threading.Thread(target=self.listener.run, name="notices", daemon=True).start()
        LOG.info("serving as %s on %s", self.owner, self.stores.where)
        try:
            yield
        finally:
            LOG.info("stopping")
            await loop.run_in_executor(None, self._stop)

    def _stop(self) -> None:
        self._stopping.set()  # its long poll is left behind: what it brings comes again elsewhere
        self.driving.stop()
        self.heartbeats.stop()
        self.changes.stop()
        self.pool.stop()
        with suppress(HoldfastError):  # the database may be what is away
            self.high_water.saw(self.stores.groups.change_number())
        self.high_water.flush()
        self.stores.close()

    def _survey(self) -> None:
        """What a server must know of its database every second: its clock, and how far it has come."""
        self.time.surveyed(self.stores.groups)
        change_n = self.stores.groups.change_number()
        recovered = self.high_water.saw(change_n)
        if change_n >= 0 and self.high_water.problem():
            self.stores.groups.mark_restored(self.high_water.known)
        if self.high_water.withheld():
            self.time.withheld()
        clients = [client.client_id for client in self.stores.tenants.clients()]
        subjects = [
            subject_of(client_id, agent_id)
            for client_id in clients
            for agent_id in self.stores.tenants.agents(client_id)
        ]
        self._learn(clients)
        self._group_count = len(subjects)
        if time.monotonic() >= self._forget_s:
            self._forget_s = time.monotonic() + FORGET_EVERY_S
            self.stores.groups.forget_requests()
        if recovered:
            for subject in subjects:
                self.driving.nudge(subject)

    def _learn(self, clients: list[str]) -> None:
        """Which members there are: those that a restored database has lost are named by it."""
        if self.high_water.problem():
            self.members.behind()
        if time.monotonic() >= self._learn_s:
            self._learn_s = time.monotonic() + LEARNED_EVERY_S
            self.members.learned(
                token for client_id in clients for token in self.stores.tenants.tokens(client_id)
            )
        self.members.store()

    def _heard(self, notices: Sequence[Notice]) -> Sequence[Notice]:
        """Notices of EC2's queue.  Raises Busy while they cannot be kept: they come again."""
        if self._stopping.is_set() or self.high_water.problem():
            raise Busy("nothing is noted now")
        try:
            return cloud_notices.keep(self.context, notices)
        except Refusal as refusal:
            raise Busy(f"not noted: {refusal}") from refusal

    async def _read(self, subject: str) -> Versioned[Group]:
        found: Versioned[Group] = await self.pool.run(partial(self.groups.read, subject))
        return found

    def _drive(self, subject: str) -> object:
        """A database that went back in time is not driven on: its records are not the newest."""
        return None if self.high_water.problem() else self.driver.drive(subject)

    def _told(self, subject: str, found: Versioned[Group], write: Write[Group]) -> None:
        tell(self.figures, found, write)
        self.groups.forget(subject)
        self.changes.wake(subject)

    def _changed_here(self, subject: str, found: Versioned[Group]) -> None:
        self.groups.forget(subject)
        self.changes.wake(subject)
        self.driving.nudge(subject)

    def _changed_anywhere(self, subject: str, change_n: int) -> None:
        self.groups.forget(subject)
        self.high_water.reached(change_n)

    def _stored(self, beats: Any, grants: Any) -> None:
        """Groups for which a heartbeat says something that a rule waits for are driven at once."""
        for beat, grant in zip(beats, grants, strict=True):
            self._look_at(beat, grant)

    def _look_at(self, beat: Beat, grant: Grant) -> None:
        if not grant.session_ok:
            return
        subject = subject_of(beat.client_id, beat.agent_id)
        key = subject, beat.instance_id
        before, self._reports[key] = self._reports.get(key), beat.report
        if worth_a_look(before, beat.report, grant.epoch):
            self.driving.nudge(subject)

    async def _health(self, request: Request) -> Response:
        """200 while the database answers; else what is wrong, and nothing that a stranger should know."""
        try:
            await self.pool.run(self._survey)
            problem = self.high_water.problem()
        except HoldfastError:
            problem = "the database does not answer"
        body = {
            "status": "error" if problem else "success",
            "data": {"ready": not problem},
            "error": problem or None,
        }
        return Response(ENCODE(body), 503 if problem else 200, media_type="application/json")

    async def _metrics(self, request: Request) -> Response:
        def asked() -> bytes:
            return generate_latest(
                Collector(
                    self.figures, lambda: gauges(self.stores, self.context, self.high_water.problem())
                ).registry()
            )

        return Response(await self.pool.run(asked), headers={"Content-Type": CONTENT_TYPE_LATEST})


class Listening(uvicorn.Server):
    """Told to stop, it sends those who wait for a goal away at once: an agent asks another server."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._server = server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._server.changes.wake_all()
        super().handle_exit(sig, frame)


def serve(settings: Settings) -> None:
    """Until SIGTERM or Ctrl-C.  Raises Invalid for an address or a certificate that cannot be used."""
    with _listening(settings.listen) as listening, open_stores(settings) as stores:
        server = Server(settings, stores)
        config = uvicorn.Config(
            server.application(),
            loop="uvloop",
            http=BoundedHeads,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_WITHIN_S,
            **_tls(settings),
        )
        Listening(config, server).run(sockets=[listening])


def _listening(listen: str) -> socket.socket:
    host, port = address(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error
        raise Invalid(f"listen = {listen!r}: {why}; choose another address") from error


def _tls(settings: Settings) -> dict[str, Any]:
    if not settings.tls_cert:
        return {}
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            settings.tls_cert, settings.tls_key
        )
    except (OSError, ssl.SSLError) as error:
        raise Invalid(f"tls_cert = {settings.tls_cert!r}, tls_key = {settings.tls_key!r}: {error}") from error
    return {"ssl_certfile": settings.tls_cert, "ssl_keyfile": settings.tls_key}
