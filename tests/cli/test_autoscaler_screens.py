"""Small screens, long logs, and questions that were asked wrongly: by people, and by scripts."""

import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.status import status
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot.build import build
from holdfast.cli.autoscaler.views.status import screen
from holdfast.kernel import Event
from tests.cli.small_shell import Shell, shell_in
from tests.workloads import listings, node


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_in(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pause", "--until", "soon", "--why", "x"), "'soon' is no time"),
        (("status", "--config", "nowhere.toml"), "does not exist"),
        (("status", "--config", "broken.toml"), "is no TOML"),
        (("explain", "n-99"), "called 'n-99'"),
        (("tick", "--budget", "nan"), "nan is no number of seconds"),
        (("run", "--every", "nan"), "nan is no number of seconds"),
        (("history", "--frob"), "--frob"),
    ],
)
def test_bad_input_is_json_where_json_was_asked_for(
    shell: Shell, arguments: tuple[str, ...], says: str
) -> None:
    Path("broken.toml").write_text("this is no TOML")

    done = shell(*arguments, "--json")

    assert done.exit_code == 2
    told = json.loads(done.stdout)
    assert says in told["problems"][0]
    assert says in done.stderr


def test_a_loop_that_cannot_start_says_so_in_one_line(shell: Shell) -> None:
    done = shell("run", "--json", "--turns", "1", CPU_UP="2", MIN_WORKERS="-1")

    assert done.exit_code == 2
    (line,) = done.stdout.splitlines()
    assert len(json.loads(line)["problems"]) == 2


def test_a_file_that_cannot_be_a_record_is_named_with_what_it_must_be(shell: Shell) -> None:
    Path("letter.db").write_bytes(b"Dear reader, this is a letter. " * 200)

    done = shell("history", DATABASE="letter.db")

    assert done.exit_code == 1
    assert "letter.db" in done.stderr
    assert "`database` must be a file that Holdfast made, or none yet" in done.stderr


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_narrow_screen_shows_whole_words_or_nothing(columns: int) -> None:
    look = listings(*(node(f"ip-10-0-0-{n}", zone=f"eu-central-1{zone}") for n, zone in enumerate("abc")))
    found = status(Cluster(), build(look), Settings(), 100_000.0)
    render = Console(width=columns, file=io.StringIO(), color_system=None)

    render.print(screen(found, columns))

    text: str = render.file.getvalue()  # type: ignore[attr-defined]  # the one given above
    assert "…" not in text
    assert "serving" in text
    assert all(worker.instance_id in text for worker in found.workers)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= columns


def test_status_of_an_empty_fleet_is_a_screen_too(shell: Shell) -> None:
    shell.world.machines.clear()
    shell.world.its_nodes.clear()

    assert "0 workers" in shell("status").stdout


def test_history_is_one_screen_unless_more_is_asked_for(shell: Shell) -> None:
    now, long = time.time(), "a reason that is too long for a line, " * 4
    shell.write(
        Cluster(), *(Event("drainSkipped", now - n, f"i-{n}", f"{long}{n}") for n in range(60, 0, -1))
    )

    whole, asked = shell("history").stdout, shell("history", "--limit", "60").stdout

    assert len(whole.splitlines()) <= 45
    assert "i-1 stays in service" in whole
    assert "older ones are not shown: raise --limit" in whole
    assert len(asked.splitlines()) > 100
    assert len(shell.json("history")) == 30
