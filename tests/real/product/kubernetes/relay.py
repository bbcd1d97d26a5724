"""Plain connections on loopback, carried on over TLS: so a proxy that reads HTTP can stand before it."""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.client import Client
from holdfast.testing.proxy import Fate, FaultProxy
from tools.parts.cluster import Cluster

PIECE_BYTES = 1 << 16
END_TIMEOUT_S = 300.0


@contextlib.contextmanager
def faulty(
    cluster: Cluster, *fates: Fate, read_timeout_s: float = 15.0
) -> Iterator[tuple[KubernetesApi, FaultProxy]]:
    """The adapter on a way where its requests meet these fates, one after the other."""
    with plain_way_to(cluster) as port, FaultProxy("127.0.0.1", port, fate=fates) as proxy:
        access = Access(proxy.endpoint, "a test", None, lambda: cluster.admin_token)
        with KubernetesApi(Client(lambda: access, read_timeout_s=read_timeout_s)) as api:
            yield api, proxy


@contextlib.contextmanager
def plain_way_to(cluster: Cluster) -> Iterator[int]:
    """A port that leads to the API server."""
    at, trust = urlsplit(cluster.server), ssl.create_default_context(cafile=str(cluster.ca_file))
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def carry(plain: socket.socket) -> None:
        with plain, contextlib.suppress(OSError):
            raw = socket.create_connection((at.hostname, at.port), timeout=END_TIMEOUT_S)
            with trust.wrap_socket(raw, server_hostname=at.hostname) as secure:
                both_ways(plain, secure)

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def accept() -> None:
            while True:
                plain, _ = listener.accept()
                if ended.is_set():
                    plain.close()
                    return
                threads.append(threading.Thread(target=carry, args=(plain,)))
                threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            socket.create_connection(listener.getsockname()).close()  # wakes it
            for thread in (acceptor, *threads):
                thread.join(END_TIMEOUT_S)


def both_ways(plain: socket.socket, secure: ssl.SSLSocket) -> None:
    """Pass on until either side ends.  In one thread: two must not use one TLS connection at once."""
    while True:
        ready = [secure] if secure.pending() else select.select([plain, secure], [], [])[0]
        if plain in ready:
            if not (piece := plain.recv(PIECE_BYTES)):
                return
            secure.sendall(piece)
        if secure in ready:
            secure.setblocking(False)  # what is there may be the protocol's own and hold no data
            try:
                piece = secure.recv(PIECE_BYTES)
            except ssl.SSLWantReadError:
                continue
            finally:
                secure.setblocking(True)
            if not piece:
                return
            plain.sendall(piece)
