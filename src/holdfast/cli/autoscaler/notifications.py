"""`holdfast autoscaler notifications`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import WRONG, options, say, say_json
from holdfast.cloud.text import counted

if TYPE_CHECKING:
    from holdfast.autoscaler.notifications.deliver import Channel
    from holdfast.autoscaler.notifications.record import Board, Receipt

NONE = "no channel is set: give notify_webhook_url, notify_slack_url or notify_sns_topic_arn"


@click.command(name="notifications")
@options
@click.option("--test", is_flag=True, help="Send a message to every channel now, and say what came of it.")
def command(config: Path | None, as_json: bool, test: bool) -> None:
    """List what holds now and is told, and how far each channel has heard of it.

    With --test, exit code 1 if a channel did not take the message.

    \b
    Example:
      holdfast autoscaler notifications
      holdfast autoscaler notifications --test
    """
    from holdfast.app.autoscaler.channels import channels_of
    from holdfast.app.autoscaler.stores import open_boards
    from holdfast.autoscaler.notifications.record import SUBJECT

    with session(config, as_json) as ours:
        channels = channels_of(ours.settings, os.environ)
        if test:
            _tried(channels, ours.settings.cluster_name, as_json)
            return
        board = open_boards(ours.settings, os.environ).notifications.read(SUBJECT).value
    if as_json:
        say_json({"channels": list(channels), "notifications": _rows(board)})
        return
    say(f"channels: {', '.join(channels)}" if channels else NONE)
    _show(board)


def _tried(channels: "dict[str, Channel]", cluster: str, as_json: bool) -> None:
    from holdfast.adapters.clock import SystemClock
    from holdfast.autoscaler.notifications.message import trial
    from holdfast.kernel import HoldfastError, Invalid

    if not channels:
        raise Invalid(NONE)
    message = trial(cluster, int(SystemClock().now_s()))
    answers: dict[str, str] = {}
    for name, channel in channels.items():
        try:
            channel.send(message)
            answers[name] = ""
        except HoldfastError as error:
            answers[name] = str(error)
    if as_json:
        say_json({name: {"sent": not problem, "problem": problem} for name, problem in answers.items()})
    else:
        for name, problem in answers.items():
            say(f"{name}: {problem or 'sent'}", fg="red" if problem else "green")
    if any(answers.values()):
        raise SystemExit(WRONG)


def _rows(board: "Board") -> list[dict[str, Any]]:
    return [
        {
            "cause": each.cause,
            "about": each.about,
            "why": each.why,
            "since": each.since_s,
            "over": each.over_s or None,
            "channels": {receipt.channel: _state(receipt) for receipt in each.receipts},
        }
        for each in board.notifications
    ]


def _state(receipt: "Receipt") -> str:
    if receipt.told:
        return f"{receipt.stage}: told"
    tried = f"tried {counted(receipt.tries, 'time')}" if receipt.tries else "due"
    return f"{receipt.stage}: {tried}"


def _show(board: "Board") -> None:
    from holdfast.cli.times import clock

    if not board.notifications:
        say("nothing to tell")
    for each in board.notifications:
        ended = f", over at {clock(each.over_s)}" if each.over_s else ""
        say(f"{each.cause.heading}: {each.about}", bold=True, nl=False)
        say(f" since {clock(each.since_s)}{ended}")
        say(f"  {each.why}")
        for receipt in each.receipts:
            say(f"  {receipt.channel}: {_state(receipt)}")
