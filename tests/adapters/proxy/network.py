"""A way to DynamoDB on which chosen calls meet chosen fates, with the shipped adapter on it."""

import json
import uuid
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore, ensure_cap_tables
from holdfast.adapters.aws.dynamodb.client import make_client
from holdfast.kernel import DriverPorts, Write
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.ports import Seen, WriteRow
from holdfast.testing.proxy import PASS, Fate, FaultProxy, Kind

APP = "my-app"
SUBJECT = coordinator(APP)
COMMIT, LOOK_UP = "TransactWriteItems", "GetItem"
VIEW = View(30, 3)
IMPATIENT_S = 3.0
PATIENT_S = 120.0

Spoil = Fate | Callable[[], Fate]
"""A fate, or something that happens elsewhere first and then gives one."""


def drawn() -> str:
    return uuid.uuid4().hex


class Network:
    """One stream's table behind a proxy, and the same table reached directly."""

    def __init__(self, endpoint: str) -> None:
        address = urlsplit(endpoint)
        assert address.hostname
        assert address.port
        self.stream = f"stream-{drawn()[:8]}"
        self.calls: list[str] = []
        """Names of the calls that came to the proxy."""
        self._spoils: dict[str, list[Spoil]] = {}
        self._direct = make_client(endpoint_url=endpoint, region="eu-central-1")
        ensure_cap_tables(self._direct, f"{self.stream}_meta")
        self.direct = self.store(self._direct)
        self._proxy = FaultProxy(address.hostname, address.port, fate=self._fate)
        self.client = self.client_of(make_client)

    def client_of(self, make: Callable[..., Any], *, read_timeout_s: float = PATIENT_S) -> Any:
        """A client on the faulty way, made by the given `make_client`."""
        return make(endpoint_url=self._proxy.endpoint, region="eu-central-1", read_timeout_s=read_timeout_s)

    def store_for(self, fate: Fate) -> DynamoCapStore:
        """The shipped store; impatient only where a fate makes it wait, for a busy machine is no fate."""
        silent = fate.kind in (Kind.BLACK_HOLE, Kind.LATENCY)
        return self.store(self.client_of(make_client, read_timeout_s=IMPATIENT_S) if silent else self.client)

    def store(self, client: Any) -> DynamoCapStore:
        return DynamoCapStore(client, stream_name=self.stream, app_name=APP)

    def spoil(self, call: str, *spoils: Spoil) -> None:
        """The next calls of this name meet these fates, one after the other; then all passes again."""
        self._spoils[call] = list(spoils)

    def _fate(self, n: int, head: str) -> Fate:
        (target,) = (line for line in head.split("\r\n") if line.lower().startswith("x-amz-target:"))
        call = target.rpartition(".")[2]
        self.calls.append(call)
        waiting = self._spoils.get(call)
        spoil = waiting.pop(0) if waiting else PASS
        return spoil() if callable(spoil) else spoil

    def written(self) -> list[tuple[int, str]]:
        """Version and commit id of every event: what was really written, and how often."""
        return [(logged.version, logged.commit_id) for logged in self.direct.events(SUBJECT)]

    def put(self, write: Write[Cap]) -> str:
        """Another's commit, on a way that works; its id."""
        return self.direct.commit(SUBJECT, self.direct.read(SUBJECT), write, drawn()).commit_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with closing(self._proxy), closing(self.client), closing(self._direct):
            pass


def forget_tokens(client: Any) -> Any:
    """Do what ten minutes do: every attempt is new to the server, also one that botocore repeats."""

    def renew(request: Any, **_: Any) -> None:
        asked = json.loads(request.data)
        request.data = json.dumps({**asked, "ClientRequestToken": drawn()}).encode()

    client.meta.events.register(f"before-sign.dynamodb.{COMMIT}", renew)
    return client


class StoppedClock:
    def now_s(self) -> float:
        return 1730000000.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here needs to wait")


def ports(store: DynamoCapStore, ids: list[str], view: View = VIEW) -> DriverPorts[Cap, Seen, WriteRow]:
    """Those of a worker whose row is written already; drawn ids are noted."""

    def new_id() -> str:
        ids.append(drawn())
        return ids[-1]

    def perform(effect: WriteRow) -> object:
        raise AssertionError(f"{effect} is written already")

    return DriverPorts.on(
        store,
        SUBJECT,
        look=lambda: Seen(key="w-1", incarnation="", vote=view),
        perform=perform,
        clock=StoppedClock(),
        new_id=new_id,
        random=lambda: 1.0,
    )
