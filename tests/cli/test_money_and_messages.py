"""`cost` and `notifications` at the command line."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from holdfast.autoscaler.money.ledger import Ledger
from holdfast.autoscaler.money.shares import FleetCost, NodeCost
from holdfast.autoscaler.record import PoolFailure
from holdfast.autoscaler.report.cost import cost
from holdfast.cli.autoscaler.views import cost as view
from holdfast.cloud import Market, Offering
from tests.cli.small_shell import Shell, shell_in
from tests.cli.small_world import USD
from tests.receiver import Receiver, receiving
from tests.workloads import ZONES, pod


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = shell_in(tmp_path, monkeypatch)
    made.world.usd = {
        **USD,
        **{Offering(zone, Market.ON_DEMAND, "t3.medium"): 0.05 for zone in ZONES.values()},
    }
    made.world.its_pods = [pod(f"web-{n}", node=f"n-{n}", cpu="1", memory="2Gi") for n in range(3)]
    return made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_cost_says_who_pays_for_what(shell: Shell) -> None:
    assert shell("tick").exit_code == 0
    found = shell.json("cost")
    assert found["usd_per_hour"] == 0.0375
    assert found["saved_usd_per_hour"] == 0.1125
    assert found["namespaces"] == {"shop": 0.0188}
    assert found["not_requested_usd_per_hour"] == 0.0188
    assert found["pools"]["default"]["nodes"] == 3
    screen = shell("cost", "--by", "workload", "--by", "node", "--by", "pool", "--by", "namespace").output
    for words in ("3 workers: $0.0375 an hour", "spot saves", "(75%)", "shop/", "n-0", "(not requested)"):
        assert words in screen, screen


def test_cost_names_what_has_no_price(shell: Shell) -> None:
    shell.world.usd = {}
    found = shell.json("cost")
    assert found["usd_per_hour"] == 0
    assert len(found["unpriced"]) == 3
    assert "3 workers without a known price" in shell("cost").output
    assert "3 workers: what they cost is not known" in shell("cost").output
    screen = shell("cost", "--by", "pool", "--by", "namespace", "--by", "node").output
    assert "$0.0000" not in screen
    assert "NAMESPACE" not in screen
    assert " ".join(screen.split()).count("default spot 3 not known not known not known") == 1
    assert shell("cost", "--by", "moon").exit_code == 2


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_narrow_screen_shows_whole_columns_of_what_nodes_cost(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "ip-10-0-12-34"
    node = NodeCost("i-1", name, "default", "eu-central-1a", "m5.large", "spot", 0.03, 0.1, 0.5)
    found = cost(FleetCost((node,), {}), Ledger(), 1_800_000_000)
    monkeypatch.setattr(view, "width", lambda: columns)
    render = Console(width=columns, file=io.StringIO(), color_system=None)

    render.print(view.screen(found, ["node"]))

    text: str = render.file.getvalue()  # type: ignore[attr-defined]  # the one given above
    assert "…" not in text
    assert name in text
    assert "$0.0300" in text
    assert ("ON-DEMAND" in text) is (columns == 100)


def test_a_saving_that_is_not_known_is_not_told_as_none(shell: Shell) -> None:
    shell.world.usd = USD
    assert shell("tick").exit_code == 0
    found = shell.json("cost")
    assert found["saving_unknown"] == ["t3.medium"]
    assert found["usd_per_hour"] == 0.0375
    screen = " ".join(shell("cost").output.split())
    assert "spot saves not known: give the on-demand price of t3.medium in usd_per_hour" in screen
    assert "saved against on-demand" not in screen


def test_an_operator_is_told_by_a_tick_and_can_see_what_was_told(shell: Shell, receiver: Receiver) -> None:
    where = {"NOTIFY_WEBHOOK_URL": receiver.url, "NOTIFY_AFTER_SEC": "0"}
    shell("tick", **where)
    failed = PoolFailure("default", 1, 2_000_000_000, "no image")
    shell.write(replace(shell.record(), pool_failures=(failed,)))
    assert shell("tick", **where).exit_code == 0
    assert "Scale-up failed" in receiver.got[-1][1].decode()
    (only,) = shell.json("notifications", **where)["notifications"]
    assert only["channels"] == {"webhook": "begun: told"}
    assert "Scale-up failed: pool default" in shell("notifications", **where).output


def test_a_channel_that_was_tried_once_was_not_tried_once_more(shell: Shell, receiver: Receiver) -> None:
    where = {"NOTIFY_WEBHOOK_URL": receiver.url, "NOTIFY_AFTER_SEC": "0"}
    receiver.status = 500
    failed = PoolFailure("default", 1, 2_000_000_000, "no image")
    shell.write(replace(shell.record(), pool_failures=(failed,)))
    shell("tick", **where)
    assert "webhook: begun: tried 1 time\n" in shell("notifications", **where).output


def test_a_trial_says_what_came_of_it(shell: Shell, receiver: Receiver) -> None:
    done = shell("notifications", "--test", NOTIFY_SLACK_URL=receiver.url)
    assert (done.exit_code, done.output) == (0, "slack: sent\n")
    receiver.status = 404
    done = shell("notifications", "--test", NOTIFY_SLACK_URL=receiver.url)
    assert done.exit_code == 1
    assert "127.0.0.1 answers HTTP 404 (check the address)" in done.output
    done = shell("notifications", "--test")
    assert done.exit_code == 1
    assert "doctor" not in done.output
    assert "no channel is set" in shell("notifications").output


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NOTIFY_WEBHOOK_URL", "http://example.com/T0KEN", "an address such as https://"),
        ("NOTIFY_SLACK_URL", "hooks/T0KEN", "an address such as https://hooks.slack.com"),
        ("NOTIFY_SNS_TOPIC_ARN", "alerts", "arn:aws:sns:"),
        ("NOTIFY_WEBHOOK_SECRET", "T0KEN", "give notify_webhook_url too"),
        ("NOTIFY_WEBHOOK_SECRET", "whsec_T0KEN", "must be whsec_ and the key in base64, or any text"),
        ("NOTIFY_AFTER_SEC", "-1", "at least 0"),
    ],
)
def test_bad_settings_are_named_without_their_secrets(
    shell: Shell, name: str, value: str, words: str
) -> None:
    done = shell("notifications", **{name: value})
    assert done.exit_code == 2
    assert words in done.output
    assert "T0KEN" not in done.output
