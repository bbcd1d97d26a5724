"""`holdfast up`: the product at work, in the simulated world, on its embedded default."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from select import select
from typing import TYPE_CHECKING

import click

from holdfast.cloud.text import counted

if TYPE_CHECKING:
    from holdfast.sim.demo import Demo, Stores

Pressed = Callable[[], str]
FRAME_S = 0.1
MESSAGE_S = 3.0
SPEED_MAX = 3_600.0


@click.command(name="up")
@click.option(
    "--for", "for_s", type=click.FloatRange(min=0, min_open=True), help="End by itself after so many seconds."
)
@click.option(
    "--speed",
    type=click.FloatRange(min=1, max=SPEED_MAX),
    default=120.0,
    show_default=True,
    help="Virtual seconds a second.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=7, show_default=True, help="Which history to live."
)
@click.option("--calm", is_flag=True, help="No faults: only load, notices and reshards.")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="Keep the SQLite file here.")
@click.option("--plain", is_flag=True, help="Print one line an event, as without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print events and the summary as JSON lines.")
@click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), help="Save the last screen as an SVG."
)
def command(
    for_s: float | None,
    speed: float,
    seed: int,
    calm: bool,
    state: Path | None,
    plain: bool,
    as_json: bool,
    picture: Path | None,
) -> None:
    """Watch the three parts live in the simulated world, on a real SQLite file.

    Scaling a fleet, taking over, agreeing on a cap: load comes and goes, machines boot, join,
    drain and leave, spot notices strike, every call may fail.  Press k to kill a process in
    the middle, and watch the next one go on from the record.
    """
    if state is not None and state.exists():
        raise click.BadParameter(f"{state} exists: choose a new file, or delete it", param_hint="--state")
    from holdfast.sim.demo import Demo

    with _state_file(state) as path, ExitStack() as opened:
        demo = Demo(seed, lambda now_s: _stores(path, now_s, opened), faults=not calm)
        try:
            if plain or as_json or not sys.stdout.isatty():
                _tell(demo, speed, for_s, as_json)
            else:
                _show(demo, speed, for_s)
        except KeyboardInterrupt:
            pass
        if picture is not None:
            _save(demo, speed, picture)
        _summary(demo, as_json)
    if demo.accidents:
        raise SystemExit(1)


@contextmanager
def _state_file(state: Path | None) -> Iterator[Path]:
    if state is not None:
        yield state
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-up-") as folder:
        yield Path(folder) / "state.db"


def _stores(path: Path, now_s: Callable[[], float], opened: ExitStack) -> "Stores":
    """Records on one file, closed with `opened`; the groups of this show live in memory."""
    from holdfast.adapters.sql.sqlite import Database
    from holdfast.adapters.sql.sqlite.inbox import SqliteInbox
    from holdfast.app.autoscaler.stores import sqlite_cluster_store
    from holdfast.app.leases import cap_store
    from holdfast.sim.demo import Stores
    from holdfast.sim.failover.store import MemoryGroups
    from holdfast.sim.scenarios import agreeing

    database = Database(str(path), now_s=now_s)
    opened.callback(database.close)
    return Stores(
        sqlite_cluster_store(database),
        SqliteInbox(database),
        MemoryGroups(now_s),
        cap_store(database, stream_name=agreeing.SETTINGS.stream_name, app_name=agreeing.APP),
    )


def _frames(for_s: float | None) -> Iterator[float]:
    """Seconds since the last frame, until the time is over."""
    began_s = last_s = time.monotonic()
    while for_s is None or time.monotonic() - began_s < for_s:
        time.sleep(FRAME_S)
        now_s = time.monotonic()
        yield now_s - last_s
        last_s = now_s


def _tell(demo: "Demo", speed: float, for_s: float | None, as_json: bool) -> None:
    for passed_s in _frames(for_s):
        for line in demo.run(passed_s * speed):
            text = line.plain()
            if as_json:
                text = json.dumps(
                    {"at_s": line.at_s, "part": line.part, "kind": line.kind, "text": line.text}
                )
            click.echo(text)
        sys.stdout.flush()


def _show(demo: "Demo", speed: float, for_s: float | None) -> None:
    from rich.console import Console
    from rich.live import Live

    from holdfast.cli.up_screen import screen

    console, paused, message, shown_s = Console(), False, "", 0.0
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        for passed_s in _frames(for_s):
            shown_s += passed_s
            match pressed():
                case "q":
                    return
                case "k":
                    message = demo.kill()
                case "n":
                    message, shown_s = demo.notice(), 0.0
                case "b":
                    message, shown_s = demo.burst(), 0.0
                case " ":
                    paused = not paused
                case "+":
                    speed = min(SPEED_MAX, speed * 2)
                case "-":
                    speed = max(1.0, speed / 2)
            if not paused:
                demo.run(passed_s * speed)
            if not demo.armed and shown_s > MESSAGE_S:
                message = ""
            events = max(4, console.height - 25)
            shown = screen(demo, speed=speed, paused=paused, message=message, keys=True, events=events)
            live.update(shown, refresh=True)


@contextmanager
def _keys() -> Iterator[Pressed]:
    """Keys as they are pressed; none where there is no keyboard."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield lambda: sys.stdin.read(1) if select([sys.stdin], [], [], 0)[0] else ""
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _save(demo: "Demo", speed: float, picture: Path) -> None:
    import io

    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    from holdfast.cli.up_screen import screen

    console = Console(record=True, width=132, file=io.StringIO())
    console.print(screen(demo, speed=speed, paused=False, message="", keys=False, events=10))
    console.save_svg(str(picture), title="holdfast up", code_format=_without_fonts(CONSOLE_SVG_FORMAT))


def _without_fonts(svg_format: str) -> str:
    """A picture that loads nothing from the network: the reader's own monospaced font is as good."""
    import re

    local = re.sub(r"@font-face \{\{.*?\}\}", "", svg_format, flags=re.DOTALL)
    return local.replace(
        "Fira Code, monospace", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    )


def _summary(demo: "Demo", as_json: bool) -> None:
    hours = demo.hours
    actions = {scenario.name: scenario.actions for scenario in demo.scenarios}
    if as_json:
        figures = {
            "virtual_hours": round(hours, 2),
            "actions": actions,
            "faults": demo.struck,
            "kills": demo.kills,
        }
        click.echo(json.dumps({"summary": {**figures, "accidents": demo.accidents}}))
        return
    told, struck, kills = demo.told, demo.struck, demo.kills
    counts = f"{counted(told, 'event')}, {counted(struck, 'fault')}, {counted(kills, 'kill')}"
    click.echo(f"\n{hours:.1f} virtual hours, {counts}")
    for name, count in actions.items():
        click.echo(f"  {name:22} {count:4} {'action' if count == 1 else 'actions'} ended")
    for accident in demo.accidents:
        click.echo(f"  ACCIDENT: {accident}")
    if not demo.accidents:
        click.echo("  nothing broke")
