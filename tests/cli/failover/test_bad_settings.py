"""Commands that open the database, and the settings of all: what is wrong is named, with its fix."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.failover.shell import PASSWORD, Shell
from tests.server.running import Running

OPENING = {
    "migrate": (),
    "clients list": (),
    "clients add": ("bank", "--out", "new"),
    "clients token": ("shop", "--out", "new"),
    "recover": (),
    "server": ("--listen", "127.0.0.1:0"),
}
"""With arguments that would do."""
ANY = {**OPENING, "status": (), "doctor": ()}
each_opening = pytest.mark.parametrize("command", OPENING)
SHAPE = "FAILOVER_DATABASE = (not shown): must be sqlite:FILE, mysql://… or postgresql://…"


@each_opening
@pytest.mark.parametrize(
    ("database", "says", "code"),
    [
        ("sqlite:/nowhere/failover.db", "/nowhere/failover.db: unable to open database file", 1),
        ("sqlite:/", "/: unable to open database file", 1),
        ("sqlite:", SHAPE, 2),
        (f"oracle://me:{PASSWORD}@host/name", SHAPE, 2),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:9/name", "Connection refused", 1),
        (f"mysql://me:{PASSWORD}@127.0.0.1:9/name", "Connection refused", 1),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:many/name", "the port makes no sense", 1),
        (f"mysql://me:{PASSWORD}@/name", "the host is missing", 1),
    ],
    ids=["no-folder", "folder", "empty", "other-scheme", "postgresql-away", "mysql-away", "port", "host"],
)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(
    shell: Shell, command: str, database: str, says: str, code: int
) -> None:
    assert says in shell.refused(*command.split(), *OPENING[command], code=code, FAILOVER_DATABASE=database)


@each_opening
def test_a_file_that_is_no_database_is_left_as_it_is(shell: Shell, command: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Remember the milk. " * 300)
    before = file.read_bytes()
    words = (*command.split(), *OPENING[command])
    assert "file is not a database. Nothing was changed" in shell.refused(
        *words, code=1, FAILOVER_DATABASE=f"sqlite:{file}"
    )
    assert file.read_bytes() == before


def on_a_full_disk() -> None:
    """No file of this process may grow: what a full disk does, but for its number."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@each_opening
def test_a_full_disk_is_told_and_nothing_is_left(shell: Shell, command: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "holdfast.cli", "failover", *command.split(), *OPENING[command]]
    environ = {**os.environ, **shell.environ, "FAILOVER_DATABASE": f"sqlite:{tmp_path / 'failover.db'}"}
    done = subprocess.run(
        argv, env=environ, cwd=tmp_path, preexec_fn=on_a_full_disk, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "Traceback" not in done.stderr
    assert "`database` must be a file" in done.stderr
    assert "whose disk has room" in done.stderr
    assert not (tmp_path / "new").exists()


def test_an_enrolment_on_a_full_disk_is_told_and_no_half_file_is_left(shell: Shell, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "holdfast.cli", "failover", "enrol", "db", "--out", "new"]
    done = subprocess.run(
        argv, env={**os.environ, **shell.environ}, cwd=tmp_path, preexec_fn=on_a_full_disk,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "--out new: File too large; name a file on a disk with room" in done.stderr
    assert "hfe_" not in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["status", "clients list", "migrate"])
def test_output_that_cannot_be_written_is_told_in_one_line(shell: Shell, command: str) -> None:
    argv = [sys.executable, "-m", "holdfast.cli", "failover", *command.split(), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            argv,
            env={**os.environ, **shell.environ},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written: No space left on device")


@pytest.mark.parametrize(
    ("client", "out", "says", "code"),
    [
        ("a b", "new", "'a b' is no id", 2),
        ("shop", "new", "CLIENT = 'shop' is there already: choose another id", 1),
        ("bank", "/nowhere/new", "--out /nowhere/new: No such file or directory", 1),
        ("bank", "operator.token", "--out operator.token is there already: name another file", 1),
    ],
)
def test_a_client_whose_token_cannot_be_written_is_not_made(
    shell: Shell, server: Running, client: str, out: str, says: str, code: int
) -> None:
    before = server.server.stores.tenants.clients()
    assert says in shell.refused("clients", "add", client, "--out", out, code=code)
    assert server.server.stores.tenants.clients() == before


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("token", "nobody", "--out", "new"), "CLIENT = 'nobody': there is none", 1),
        (("token", "--out", "new"), "name a CLIENT, or give --admin", 2),
        (("token", "shop", "--admin", "--out", "new"), "name a CLIENT, or give --admin", 2),
        (("token", "shop", "--out", "new", "--days", "nan"), "nan is no number of days", 2),
        (("token", "shop"), "Missing option '--out'", 2),
        (("add", "bank", "--out", "new", "--launches-per-hour", "-1"), "-1 is not in the range", 2),
        (("add", "bank", "--out", "new", "--requests-per-second", "many"), "'many' is not a valid", 2),
        (("remove", "shop"), "No such command 'remove'", 2),
    ],
)
def test_what_is_wrong_with_a_client_is_named(
    shell: Shell, words: tuple[str, ...], says: str, code: int
) -> None:
    assert says in shell.refused("clients", *words, code=code)


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("--listen", "0.0.0.0:7400"), "tokens would travel in plain text; give tls_cert and tls_key", 2),
        (("--listen", "here"), "listen = 'here': must be ADDRESS:PORT, such as 127.0.0.1:7400", 2),
        (("--listen", "127.0.0.1:99999"), "a port is at most 65535", 2),
        (("--tls-cert", "cert.pem"), "give both or none", 2),
        (
            ("--tls-cert", "no.pem", "--tls-key", "no.key", "--listen", "127.0.0.1:0"),
            "tls_cert = 'no.pem'",
            1,
        ),
        (("--database", f"oracle://me:{PASSWORD}@h/x"), "database = (not shown): must be sqlite:FILE", 2),
    ],
)
def test_a_server_that_cannot_serve_says_why(
    shell: Shell, words: tuple[str, ...], says: str, code: int
) -> None:
    assert says in shell.refused("server", *words, code=code)


def test_an_address_that_is_taken_is_named(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = shell.refused("server", "--listen", address, code=1)
    assert f"listen = '{address}': Address already in use; choose another address" in said


@pytest.mark.parametrize(("held", "says"), [("soon", "holds no number"), (None, "Is a directory")])
def test_a_high_water_mark_that_makes_no_sense_is_not_taken_for_none(
    shell: Shell, tmp_path: Path, held: str | None, says: str
) -> None:
    """Without it a restored database would be believed."""
    file = tmp_path / "highwater"
    file.mkdir() if held is None else file.write_text(held)
    said = shell.refused(
        "server", "--listen", "127.0.0.1:0", code=1, FAILOVER_HIGH_WATER_FILE=str(file),
        FAILOVER_DATABASE="sqlite::memory:",
    )  # fmt: skip
    assert says in said


@pytest.mark.parametrize("command", ANY)
@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[failover\n", "holdfast.toml is no TOML"),
        ("[failovr]\nlease_s = 5\n", "failovr: there is no such setting; did you mean failover?"),
        ("[failover]\nlease_sec = 5\n", "lease_s"),
        ("[failover]\nlease_s = 'ten'\n", "lease_s = 'ten': give a number"),
        ("[failover]\nlease_s = 0\n", "lease_s = 0"),
        ("[failover]\nheartbeat_s = 5\nrequest_timeout_s = 3\n", "raise lease_s"),
        ("[failover]\nmachines = 'gcp'\n", "machines = 'gcp': must be `none` or `ec2`"),
        ("[failover]\nmachines = 'ec2'\n", "machines = 'ec2' needs it"),
        ("[failover]\npools = 'm6i.large'\n", "pools"),
        ("[failover]\nlisten = 7400\n", "listen = 7400"),
        (f"[failover]\ndatabase = ['{PASSWORD}']\n", "database = (not shown)"),
        ("failover = 1\n", "failover"),
    ],
)
def test_settings_that_make_no_sense_are_named(
    shell: Shell, command: str, toml: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "holdfast.toml").write_text(toml)
    shell.environ = {}
    words = (*command.split(), *ANY[command])
    if command == "doctor" and "no TOML" not in says:
        done = shell(*words, "--json")
        assert done.exit_code == 2
        told = json.dumps(json.loads(done.stdout), ensure_ascii=False)
        assert says.split(":")[0] in told
        return
    assert says in shell.refused(*words, code=2)
