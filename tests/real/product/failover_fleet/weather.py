"""Troubles of servers and of the database, while groups fail over."""

import signal
import time
from collections.abc import Sequence

from tests.real.product.databases.servers import Server as Database
from tests.real.product.failover_agent.fleet import LEASE_S
from tests.real.product.failover_fleet.campaign import Weather
from tests.real.product.failover_fleet.fleet import Fleet, eventually
from tests.real.product.failover_fleet.network import Line

AWAY_S = LEASE_S + 1.0
"""Longer than a lease: whoever was away must find out that it knows nothing."""


def weather(fleet: Fleet, database: Database, line: Line) -> Sequence[Weather]:
    """`line`: between the last server and the database."""

    def server_killed() -> None:
        fleet.servers[0].kill()
        time.sleep(2.0)
        fleet.servers[0].start()
        eventually(fleet.servers[0].answers, "the server that was killed")

    def server_stopped() -> None:
        """In the middle of whatever it does, perhaps of a transaction."""
        fleet.servers[1].process.send_signal(signal.SIGSTOP)
        time.sleep(AWAY_S)
        fleet.servers[1].process.send_signal(signal.SIGCONT)

    def database_killed() -> None:
        database.started.kill()
        database.started.start_again()
        for server in fleet.servers:
            eventually(server.answers, "a server that reaches the database again")

    def server_cut_off() -> None:
        """From the database: agents that ask it are sent to another."""
        fleet.network.set(line, asks=False, answers=False)
        time.sleep(AWAY_S)
        fleet.network.set(line, asks=True, answers=True)
        eventually(fleet.servers[-1].answers, "the server that was cut off")

    return (
        (0.1, "a server is killed", server_killed),
        (0.3, "a server is stopped", server_stopped),
        (0.5, "the database is killed", database_killed),
        (0.75, "a server is cut off from the database", server_cut_off),
    )
