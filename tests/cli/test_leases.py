"""`holdfast leases` on a SQLite file: what it prints, and what it says of bad input."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdfast.adapters.sql.sqlite import Database
from holdfast.app.leases import OpenStore, cap_store
from holdfast.cli import main
from holdfast.cli.leases.look import Lookout
from holdfast.kernel import Busy, Event, Write
from holdfast.leases.agreement import agreed
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.events import LeaseEvent
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import WorkerRow
from holdfast.leases.settings import Settings

NAMES = {"STREAM_NAME": "orders", "APP_NAME": "my-app", "WORKER_ID": "worker-1"}
NOT_AWS = {
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "HEARTBEAT_SEC": "0.1",
    "MEMBER_TTL_SEC": "1",
}
AT_S = 1_763_546_400.0


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Two workers: one has the cap in force, one is behind; and a row that makes no sense."""
    path = str(tmp_path / "state.db")
    opened = Database(path)
    store = cap_store(opened, stream_name="orders", app_name="my-app")
    subject = coordinator("my-app")
    for view in (View(30, 3), View(60, 3)):
        found = store.read(subject)
        store.commit(subject, found, agreed(found.value, view, "worker-1", AT_S), f"commit-{view.shards}")
    for key, view, number in (("worker-1", View(60, 3), 2), ("worker-2", View(30, 3), 1)):
        row = WorkerRow(
            key=key,
            view=view,
            max_leases_per_worker=view.max_leases_per_worker,
            agreement=number,
            incarnation=f"i-{key}",
            heartbeat=number,
        )
        store.write_row(WriteRow(row, None, news=True), AT_S)
    with opened.transaction() as db:
        db.execute(
            "INSERT INTO records VALUES ('orders_meta', 'broken', 0, '', ?)",
            (json.dumps({"app_name": "my-app", "stream_name": "orders", "shard_count": "many"}),),
        )
    opened.close()
    return path


class NoCount:
    def open_shards(self) -> int:
        raise Busy("not counted here")


def run(*words: str, **environ: str) -> Result:
    return CliRunner().invoke(main, ["leases", *words], env={**NAMES, **NOT_AWS, **environ})


def test_status_says_what_is_agreed_who_has_it_and_what_is_wrong(database: str) -> None:
    told = json.loads(run("status", "--json", DATABASE=database, KDS_WORKER_COUNT="3").stdout)

    assert (told["agreed"], told["shard_count"], told["worker_count"], told["told"]) == (20, 60, 3, 20)
    states = {worker["worker_id"]: (worker["state"], worker["heartbeat"]) for worker in told["workers"]}
    assert states == {"worker-1": ("agreed", 2), "worker-2": ("behind", 1)}
    assert any("broken" in problem for problem in told["problems"])
    assert any("kinesis" in problem.lower() or "connect" in problem.lower() for problem in told["problems"])
    assert told["change"]["reason"] == "30/3 → 60/3"


def test_status_is_drawn_for_people(database: str) -> None:
    shown = run("status", DATABASE=database, KDS_WORKER_COUNT="3").stdout

    assert "20 leases a worker: 60 shards / 3 workers" in shown
    assert "worker-2" in shown
    assert "behind" in shown
    assert "worker-1 wrote the agreed cap: 30/3 → 60/3" in shown


def change(database: str, **changed: Any) -> None:
    """Another agreement than that of the fixture."""
    opened = Database(database)
    store, subject = cap_store(opened, stream_name="orders", app_name="my-app"), coordinator("my-app")
    found = store.read(subject)
    event = Event(LeaseEvent.RESTART_BEGUN, AT_S, about="worker-1", reason="a test")
    store.commit(subject, found, Write(replace(found.value, **changed), (event,)), "commit-changed")
    opened.close()


@pytest.mark.parametrize(
    ("lock", "once", "watched"),
    [("worker-1#i-worker-1", "worker-1", ""), ("worker-1#an older one", "", ""), ("gone#i-1", "", "")],
)
def test_a_holder_of_the_turn_that_is_dead_is_not_said_to_restart(
    database: str, lock: str, once: str, watched: str
) -> None:
    change(database, restarting=lock)
    found = run("watch", "--json", "--looks", "2", "--every", "0.2", DATABASE=database, KDS_WORKER_COUNT="3")

    assert [json.loads(line)["restarting"] for line in found.stdout.splitlines()] == [once, watched]
    shown = run("status", DATABASE=database, KDS_WORKER_COUNT="3").stdout
    assert ("worker-1, if it lives" in shown) == bool(once)
    assert "worker-1 wrote the agreed cap: 30/3 → 60/3" in shown, "why it last changed, not whose turn it is"


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (View(60, 3), "1 shard; the workers are enough, and must be told more"),
        (View(600, 3), "360 shards; 8 workers needed"),
    ],
)
def test_unread_shards_are_told_with_what_mends_them(database: str, view: View, says: str) -> None:
    change(database, view=view, unread=max(1, view.unread))
    shown = run("status", DATABASE=database, KDS_WORKER_COUNT="3").stdout

    assert says in shown


def test_before_the_first_worker_every_screen_says_so(tmp_path: Path) -> None:
    empty = str(tmp_path / "state.db")
    Database(empty).close()

    shown = run("status", DATABASE=empty).stdout
    assert "nothing yet: no worker has started" in shown
    assert "unread" not in shown
    assert "no worker has started" in run("history", DATABASE=empty).stdout


def test_a_check_fails_when_no_living_worker_may_hold_the_shards(database: str) -> None:
    found = run("status", "--check", "--json", DATABASE=database, KDS_WORKER_COUNT="3")

    assert found.exit_code == 1
    told = json.loads(found.stdout)
    assert (told["unread"], {worker["state"] for worker in told["workers"]}) == (60, {"dead"})


def test_watch_tells_a_line_a_look(database: str) -> None:
    found = run("watch", "--json", "--looks", "2", "--every", "0.2", DATABASE=database, KDS_WORKER_COUNT="3")

    looks = [json.loads(line) for line in found.stdout.splitlines()]
    assert [look["unread"] for look in looks] == [0, 60], "the second look shows that none beats"


def test_who_watches_sees_a_worker_die_and_calls_none_dead_before_it_could_beat(database: str) -> None:
    """With a beat of 5 s: looked at after 0, 1, 8, 27 and 29 s; worker-1 beats before the third look only."""
    settings = Settings(stream_name="orders", app_name="my-app", kds_worker_count=3)
    opened = Database(database)
    store = cap_store(opened, stream_name="orders", app_name="my-app")
    lookout = Lookout(settings, OpenStore(store, "a file"))
    states = []
    for at_s in (0.0, 1.0, 8.0, 27.0, 29.0):
        lookout.ports = replace(lookout.ports, shards=NoCount(), mono_s=partial(float, at_s))
        if at_s == 8.0:
            beaten = replace(store.rows().own["worker-1"], heartbeat=7)
            store.write_row(WriteRow(beaten, beaten.incarnation, news=False), AT_S)
        found = lookout.look()
        states.append((found.watched, *(worker.state for worker in found.workers)))
    opened.close()

    assert states == [
        (False, "agreed", "behind"),
        (False, "agreed", "behind"),
        (True, "agreed", "dead"),
        (True, "agreed", "dead"),
        (True, "dead", "dead"),
    ]


def test_history_tells_how_the_cap_changed(database: str) -> None:
    rows: list[dict[str, Any]] = json.loads(run("history", "--json", DATABASE=database).stdout)

    assert [(row["kind"], row["reason"]) for row in rows] == [
        ("capAgreed", "nothing → 30/3"),
        ("capAgreed", "30/3 → 60/3"),
    ]
    assert "worker-1 wrote the agreed cap" in run("history", DATABASE=database).stdout
    assert "The log has: capAgreed" in run("history", "--kind", "none", DATABASE=database).stderr


def test_the_doctor_names_what_is_wrong_and_its_fix(database: str) -> None:
    found = run("doctor", "--json", DATABASE=database)

    wrong = [check for check in json.loads(found.stdout)["checks"] if check["ok"] is False]
    assert found.exit_code == 1
    assert {check["area"] for check in wrong} == {"agreement", "Kinesis", "KCL", "workers"}
    assert any("KDS_WORKER_COUNT" in check["fix"] for check in wrong)


@pytest.mark.parametrize("command", ["status", "watch", "history", "run", "cap"])
@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"KDS_WORKER_COUNT": "three"}, "KDS_WORKER_COUNT = 'three': give a whole number"),
        ({"MAX_LEASES_LIMIT": "0"}, "MAX_LEASES_LIMIT = 0: must be at least 1"),
        ({"STREAM_NAME": ""}, "stream_name is not set: give STREAM_NAME"),
    ],
)
def test_settings_that_make_no_sense_are_named_and_nothing_is_printed(
    command: str, environ: dict[str, str], problem: str
) -> None:
    found = run(command, **environ)

    assert (found.exit_code, found.stdout) == (2, "")
    assert problem in found.stderr


def test_a_worker_id_of_an_agreed_record_is_refused(tmp_path: Path) -> None:
    found = run("run", DATABASE=str(tmp_path / "state.db"), WORKER_ID="my-app_coordinator")

    assert (found.exit_code, found.stdout) == (1, "")
    assert "choose another worker id" in found.stderr
    assert not (tmp_path / "state.db").exists(), "no table is made for it"


@pytest.mark.parametrize("command", ["run", "cap"])
def test_with_the_flag_off_none_joins(tmp_path: Path, command: str) -> None:
    found = run(command, DATABASE=str(tmp_path / "state.db"), ENABLE_DYNAMIC_MAX_LEASES="false")

    assert (found.exit_code, found.stdout) == (1, "")
    assert "enable_dynamic_max_leases is false: nothing is agreed on" in found.stderr
    assert not (tmp_path / "state.db").exists()


def test_no_record_was_changed_by_looking(database: str) -> None:
    for words in (("status",), ("history",), ("doctor",)):
        run(*words, DATABASE=database)

    opened = Database(database)
    store = cap_store(opened, stream_name="orders", app_name="my-app")
    found = store.read(coordinator("my-app"))
    opened.close()
    assert found.value == Cap(View(60, 3), agreement=2)
