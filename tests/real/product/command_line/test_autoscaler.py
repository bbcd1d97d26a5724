"""From an empty cluster to two workers and back to an explanation of them, by hand."""

import json
import signal
import subprocess
from dataclasses import replace
from typing import Any

from tests.real.product.command_line.shell import DEADLINE_S, Shell
from tools.parts.site import Site

SECRET = "eyJhbGciOiJub25lIn0.bm90LWEtdG9rZW4.c2lnbmVk"


def test_every_question_is_answered_on_the_way_from_none_to_two(shell: Shell, site: Site) -> None:
    assert json.loads(shell.run("doctor", "--json").stdout)["ok"]
    assert shell.json("plan")["decision"] == "scale-up"
    assert [call for call in changes(site) if not call["parameters"].get("DryRun")] == []

    found = shell.tick_until_serving(2)

    assert len({worker["zone"] for worker in found["workers"] if worker["state"] == "serving"}) == 2
    assert found["usd_per_hour"] > 0
    kinds = [row["kind"] for row in shell.json("history", "--limit", "100")]
    assert [kind for kind in kinds if kind.endswith("ScaleUp")] == ["beginScaleUp", "completeScaleUp"]
    nodes = shell.json("explain")["nodes"]
    assert {"floor"} <= {blocker["rule"] for node in nodes for blocker in node["blockers"]}
    account = shell.json("sweep", "--dry-run")["found"]
    assert (account["owned"], account["found"]) == (2, [])
    for command in ("status", "history", "explain", "plan", "doctor"):
        done = shell.run(command)
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 100


def changes(site: Site) -> list[dict[str, Any]]:
    """Every call that was meant to change something; listings are not logged."""
    return [entry for entry in site.ec2.log() if entry["kind"] == "call"]


def test_the_loop_ends_cleanly_after_its_turn(shell: Shell) -> None:
    running = subprocess.Popen(
        [*shell.arguments("run", "--every", "600", "--json"), "--log-format", "json"],
        env=shell.surroundings(OBSERVE="true", MIN_WORKERS="6"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=DEADLINE_S)

    assert first["outcome"] == "idle"
    assert first["why"].startswith("observing: would scale up by ")
    assert running.returncode == 0, err
    assert json.loads(err.splitlines()[-1])["msg"] == "stopped"


def test_a_token_from_ssm_is_used_and_a_wrong_one_is_named_and_not_shown(shell: Shell, site: Site) -> None:
    ssm = site.client("ssm")
    way = {
        "K8S_API_URL": site.cluster.server,
        "K8S_CA_FILE": str(site.cluster.ca_file),
        "K8S_API_TOKEN_PARAM": "/holdfast/api-token",
    }
    absent = shell.run("doctor", **way)
    ssm.put_parameter(Name="/holdfast/api-token", Value=SECRET, Type="SecureString")
    wrong = shell.run("doctor", **way)
    refused = shell.run("tick", **way)
    right = site.cluster.admin_token
    ssm.put_parameter(Name="/holdfast/api-token", Value=right, Type="SecureString", Overwrite=True)
    fine = shell.run("doctor", **way)

    assert absent.returncode == 1
    assert "there is no parameter /holdfast/api-token" in " ".join(absent.stdout.split())
    assert wrong.returncode == 1
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert fine.returncode == 0, fine.stdout
    for done in (wrong, refused, fine):
        assert SECRET not in done.stdout + done.stderr
        assert right not in done.stdout + done.stderr


def test_a_server_that_is_not_there_is_a_message_and_touches_nothing(shell: Shell, site: Site) -> None:
    before = len(changes(site))
    lines = shell.settings.read_text().splitlines()
    in_tables = shell.settings.with_name("tables.toml")
    in_tables.write_text("\n".join(line for line in lines if not line.startswith("database")))
    tables = replace(shell, settings=in_tables)

    for where, command, more, says in (
        (shell, "status", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Could not connect"),
        (
            shell,
            "tick",
            {"KUBECONFIG": "/nowhere/kubeconfig"},
            "kubeconfig '/nowhere/kubeconfig' does not exist",
        ),
        (tables, "tick", {"STATE_TABLE": "no-such-table"}, "no-such-table"),
        (tables, "history", {"STATE_TABLE": "no-such-table"}, "no-such-table"),
    ):
        done = where.run(command, **more)
        assert done.returncode == 1, done.stdout
        assert says in done.stdout + done.stderr
        assert "Traceback" not in done.stderr

    assert len(changes(site)) == before
