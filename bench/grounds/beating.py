"""`python -m bench.grounds.beating DATABASE|none FOLDER INSTANCES`: a server for the heartbeats' benchmark.

The server is the shipped one.  With `none` the route is the same, from the socket to the answer, but that
each heartbeat is granted in memory and no thread asks a database.  The tokens of the instances go to a file;
then the port is printed.
"""

import socket
import sys
from pathlib import Path
from typing import Final

import uvicorn

from holdfast.app.failover.stores import Stores, open_stores
from holdfast.failover.group import Group, Member, subject_of
from holdfast.failover.ports import Beat, Grant
from holdfast.failover.roles import Status
from holdfast.failover.settings import Settings
from holdfast.failover.tenants import Client, TokenKind
from holdfast.kernel import Event, Write
from holdfast.server import tokens
from holdfast.server.serve import Server
from holdfast.server.tokens import issue

CLIENT: Final = "bench"
DAY_S: Final = 86_400.0
NONE: Final = "none"


def fill(stores: Stores, instances: int, now_s: float) -> list[str]:
    """A group with one primary each; the tokens of their agents."""
    _, operator = issue(TokenKind.OPERATOR, now_s=now_s, expires_in_s=DAY_S, client_id=CLIENT)
    stores.tenants.add_client(Client(client_id=CLIENT, requests_per_second_max=0), operator)
    secrets = []
    for n in range(instances):
        agent_id, instance_id = f"a-{n}", f"i-{n}"
        group = Group(
            client_id=CLIENT, agent_id=agent_id, epoch=1, served_epoch=1, created_s=now_s,
            members=(Member(instance_id=instance_id, status=Status.PRIMARY, since_s=now_s),),
        )  # fmt: skip
        subject = subject_of(CLIENT, agent_id)
        write = Write(group, (Event("created", now_s, subject),))
        stores.groups.commit(subject, stores.groups.read(subject), write, f"bench-{n}")
        stores.groups.take_session(subject, instance_id, "s", "b")
        secret, token = issue(
            TokenKind.AGENT, now_s=now_s, expires_in_s=DAY_S, client_id=CLIENT, agent_id=agent_id,
            instance_id=instance_id,
        )  # fmt: skip
        stores.tenants.add_token(token)
        secrets.append(secret)
    return secrets


def without_database(server: Server) -> None:
    """Each heartbeat is granted at once; nothing runs beside the route."""
    tokens.REMEMBERED_S = DAY_S  # type: ignore[misc]

    async def beat(beat: Beat) -> Grant:
        return Grant(
            instance_id=beat.instance_id, known=True, session_ok=True, epoch=1, primary=True, lease_s=10.0,
            goal_version=1,
        )  # fmt: skip

    server.heartbeats.beat = beat  # type: ignore[method-assign]


def main(database: str, folder: Path, instances: int) -> None:
    url = database if database != NONE else f"sqlite:{folder / 'none.db'}"
    settings = Settings(database=url, high_water_file=str(folder / "highwater"), drivers=2)
    with open_stores(settings) as stores, socket.create_server(("127.0.0.1", 0), backlog=2_048) as listening:
        server = Server(settings, stores)
        server.time.heard(stores.groups.clock_s())
        secrets = fill(stores, instances, server.time.now_s())
        if database == NONE:
            without_database(server)
        (folder / "tokens").write_text("\n".join(secrets))
        config = uvicorn.Config(
            server.application(), loop="uvloop", http="httptools", log_config=None, access_log=False,
            server_header=False, lifespan="on" if database != NONE else "off",
        )  # fmt: skip
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
