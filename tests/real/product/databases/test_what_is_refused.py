"""A database that cannot be used says why, and what would help; a password is never told."""

import socket

import pytest

from holdfast.adapters.sql.opening import open_database
from holdfast.kernel import Busy, Invalid
from tests.real.product.databases.servers import NAMES, Server, started

WEAK = {
    "mariadb": ({"innodb-flush-log-at-trx-commit": "2"}, "innodb_flush_log_at_trx_commit is 2 (set it to 1)"),
    "postgresql": ({"synchronous_commit": "off"}, "synchronous_commit is off (set it to on)"),
}


@pytest.mark.parametrize("name", NAMES)
def test_h31_weak_durability_is_refused_unless_it_is_accepted(name: str) -> None:
    settings, said = WEAK[name]
    with started(name, settings) as weak:
        url = weak.make()
        with pytest.raises(Invalid) as refused:
            open_database(url)
        assert said in str(refused.value)
        assert "--accept-weak-durability" in str(refused.value)
        database = open_database(url, accept_weak_durability=True)
        assert database.weaknesses() == [said]
        database.close()


def test_a_missing_database_and_a_wrong_password_are_told_without_it(server: Server) -> None:
    url = server.started.url("no_such_database")
    with pytest.raises(Busy, match="no_such_database"):
        open_database(url)
    secret = server.started.url("x").replace("@", ":s3cret-word@")
    with pytest.raises(Busy) as refused:
        open_database(secret.replace("root", "stranger").replace("holdfast:", "stranger:"))
    assert "s3cret-word" not in f"{refused.value!r}{refused.value.__cause__!r}"


def test_a_server_that_is_not_there_is_busy(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = server.started.url("x").replace(str(server.started.port), str(port))
    with pytest.raises(Busy, match="refused"):
        open_database(url)
