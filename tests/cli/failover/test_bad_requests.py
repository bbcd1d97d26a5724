"""Commands that ask a server: what is wrong with the words, the token, the address or the server is named."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from holdfast.cli.failover import api
from tests.cli.failover.shell import Shell
from tests.server.running import Running
from tests.server.tenancy import Tenant, tenant

ASKING = {
    "status": (),
    "history": ("db",),
    "why": ("db",),
    "enrol": ("db", "--out", "new"),
    "switch": ("db",),
    "promote": ("shop-db-1",),
    "pause": ("db", "--until", "1h", "--why", "test"),
    "resume": ("db",),
    "settings": ("db", "standbys=1"),
    "sweep": (),
    "revive": ("shop-db-1", "--why", "test"),
    "recover": ("db",),
}
"""With arguments that would do."""
each_command = pytest.mark.parametrize("command", ASKING)


@each_command
@pytest.mark.parametrize(
    ("url", "says", "code"),
    [
        ("http://127.0.0.1:9", "did not answer: [Errno 111] Connection refused", 1),
        ("http://nowhere.invalid:7400", "Failed to resolve 'nowhere.invalid'", 1),
        ("http://127.0.0.1:99999", "server = 'http://127.0.0.1:99999' is no address", 1),
        ("ftp://host", "FAILOVER_SERVER = 'ftp://host': must be an address such as", 2),
        ("http://[::1", "FAILOVER_SERVER = 'http://[::1': must be an address such as", 2),
        ("http://a b", "FAILOVER_SERVER = 'http://a b': must be an address such as", 2),
    ],
)
def test_a_server_that_cannot_be_reached_is_named(
    shell: Shell, command: str, url: str, says: str, code: int
) -> None:
    assert says in shell.refused(command, *ASKING[command], code=code, FAILOVER_SERVER=url)


class NotOurs(BaseHTTPRequestHandler):
    """Answers every method alike, and not as we do."""

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline()
        if not self.parse_request():
            return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b"<html>It works!</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def another_program() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), NotOurs) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


@each_command
def test_another_program_at_that_address_is_not_believed(shell: Shell, command: str) -> None:
    with another_program() as url:
        said = shell.refused(command, *ASKING[command], code=1, FAILOVER_SERVER=url)
    assert "not as a Holdfast server does: check `server`" in said


@each_command
def test_a_server_that_hangs_is_not_waited_for(
    shell: Shell, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        said = shell.refused(command, *ASKING[command], code=1, FAILOVER_SERVER=url)
    assert "did not answer: Read timed out" in said


def test_a_server_that_hangs_up_is_told_without_a_librarys_words(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"

        def hang_up() -> None:
            for _ in range(2):
                caller, _ = deaf.accept()
                caller.recv(65_536)
                caller.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        said = shell.refused("status", code=1, FAILOVER_SERVER=url)
        thread.join()
    assert said == f"{url} did not answer: Remote end closed connection without response"


def test_tls_where_there_is_none_is_told(shell: Shell, server: Running) -> None:
    said = shell.refused("status", code=1, FAILOVER_SERVER=server.url.replace("http", "https"))
    assert "TLS failed (wrong version number): check http or https in `server`, and `ca_file`" in said


@each_command
@pytest.mark.parametrize(
    ("held", "mode", "says"),
    [
        (None, 0, "No such file or directory; `holdfast failover clients add NAME` writes one"),
        (b"", 0o600, "is empty: put an operator's token there"),
        (b"hfo_leaked-token", 0o644, "others may read it; `chmod 600"),
        (b"hfo_leaked-\xff", 0o600, "holds no token: it must have one word"),
        (b"hfo_leaked\ntoken", 0o600, "holds no token: it must have one word"),
        (b"hfo_leaked-token", 0o600, "unknown, expired or used up"),
    ],
    ids=["none", "empty", "open-to-others", "binary", "two-lines", "unknown"],
)
def test_a_token_that_opens_nothing_is_told_and_not_shown(
    shell: Shell, command: str, held: bytes | None, mode: int, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "other.token"
    if held is not None:
        file.write_bytes(held)
        file.chmod(mode)
    said = shell.refused(command, *ASKING[command], code=1, FAILOVER_TOKEN_FILE=str(file))
    assert says in said
    assert "leaked" not in said


@pytest.mark.parametrize("command", [name for name, words in ASKING.items() if words])
def test_a_foreign_id_is_as_good_as_none(shell: Shell, server: Running, command: str) -> None:
    if server.server.stores.tenants.client("bank") is None:
        tenant(server, "bank", "ledger")
    words = ASKING[command]
    said = {
        name: shell.refused(command, name, *words[1:], code=1).replace(name, "X")
        for name in ("bank-ledger-1" if command in ("promote", "revive") else "ledger", "nothing")
        if command != "enrol"
    }
    assert len(set(said.values())) <= 1, said
    assert all("(NOT_FOUND)" in each for each in said.values())


IDS = {
    **{command: (words, 0) for command, words in ASKING.items() if words},
    "status": (("X",), 0),
    "switch --to": (("db", "--to", "X"), 2),
    "enrol --instance": (("db", "--out", "new", "--instance", "X"), 4),
    "recover --primary": (("db", "--primary", "X"), 2),
    "sweep --gone": (("--gone", "X", "--why", "test"), 1),
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("wrong", ["", "a b", "../etc", "x" * 65, "ä", "db\n"])
def test_what_is_no_id_is_told_before_anything_is_asked(shell: Shell, name: str, wrong: str) -> None:
    words, at = IDS[name]
    given = [*words[:at], wrong, *words[at + 1 :]]
    said = shell.refused(name.split()[0], *given, code=2)
    assert f"{wrong!r} is no id: give 1 to 64 letters, digits or . _ : -" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("history", "db", "--limit", "many"), "'many' is not a valid integer"),
        (("history", "db", "--limit", "0"), "0 is not in the range"),
        (("history", "db", "--after", "-1"), "-1 is not in the range"),
        (("history",), "Missing argument 'AGENT'"),
        (("enrol", "db"), "Missing option '--out'"),
        (("enrol", "db", "--out", "new", "--hours", "nan"), "nan is no number of hours"),
        (("enrol", "db", "--out", "new", "--hours", "0"), "0.0 is not in the range"),
        (("switch", "db", "--wait", "-1"), "-1.0 is not in the range"),
        (("switch", "db", "--wait", "inf"), "inf is no number of seconds"),
        (("switch", "db", "--force"), "No such option '--force'"),
        (("pause", "db", "--until", "soon", "--why", "x"), "'soon' is no time: write 30m, 2h"),
        (("pause", "db", "--until", "2020-01-01", "--why", "x"), "is over: name a time to come"),
        (("pause", "db", "--until", "60d", "--why", "x"), "'60d' is too far ahead: a pause lasts 30 days"),
        (("pause", "db", "--until", "1h", "--why", " "), "is empty: say why"),
        (("settings", "db", "mode=fast"), "mode = 'fast': give auto_switch or manual_replica or off"),
        (("settings", "db", "standbys=99"), "standbys = '99': give int <= 15"),
        (("settings", "db", "standbys=few"), "standbys = 'few': give int, not str"),
        (("settings", "db", "max_lag_s=nan"), "max_lag_s = 'nan': give float >= 0"),
        (("settings", "db", "standby=1"), "'standby=1': write NAME=VALUE; names are mode,"),
        (("settings", "db", "standbys"), "'standbys': write NAME=VALUE"),
        (("sweep", "--gone", "i-1"), "--why: is empty"),
        (("stauts",), "did you mean `holdfast failover status`?"),
        (("status", "--jsno"), "No such option '--jsno'. Did you mean '--json'?"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_named(shell: Shell, words: tuple[str, ...], says: str) -> None:
    assert says in shell.refused(*words, code=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("pause", "db", "--until", "1h", "--why", "x" * 600), "give str of length <= 512"),
        (("pause", "db", "--until", "1h", "--why", "x"), "there is nothing to hold on to"),
        (("switch", "db"), "there is no primary to switch from (use `promote`)"),
        (("recover", "db", "--primary", "shop-db-1"), "db is not recovering"),
        (("sweep", "--gone", "i-1", "--why", "x"), "there is no instance 'i-1'"),
        (
            ("settings", "db", "auto_switch_enabled=true", "manual_replica_enabled=true"),
            "mutually exclusive (turn one of them off",
        ),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words(
    shell: Shell, shop: Tenant, words: tuple[str, ...], says: str
) -> None:
    assert says in shell.refused(*words, code=1)


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("/nowhere/new", "No such file or directory"),
        ("operator.token", "is there already: name another file"),
    ],
)
def test_an_enrolment_that_cannot_be_written_is_not_made(
    shell: Shell, server: Running, shop: Tenant, out: str, says: str
) -> None:
    tokens = server.server.stores.tenants.tokens("shop")
    assert says in shell.refused("enrol", "db", "--out", out, code=1)
    assert server.server.stores.tenants.tokens("shop") == tokens
    assert Path("operator.token").read_text() == shop.token
