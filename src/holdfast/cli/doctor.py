"""What the doctors of all parts share: the settings first, then the part's questions; one exit code."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.cli.session import (
    BAD_INPUT,
    NOT_FOUND,
    WRONG,
    busy,
    is_unconfigured,
    read_toml,
    say_json,
)

if TYPE_CHECKING:
    from holdfast.app.doctor import Check
    from holdfast.settings import Loaded

SETTINGS = "settings"

Settings = TypeVar("Settings")
Load = Callable[[Mapping[str, Any], Mapping[str, str]], "Loaded[Settings]"]


def answer(checks: "Iterable[Check]", as_json: bool) -> None:
    """Ask, show all answers, and exit 1 if something is wrong, 2 if the settings are."""
    with busy("asking around"):
        answers = list(checks)
    wrong = [check for check in answers if check.ok is False]
    if as_json:
        say_json({"ok": not wrong, "checks": [check.as_json() for check in answers]})
    else:
        from holdfast.cli.doctor_view import screen
        from holdfast.cli.render import show

        show(screen(answers))
    if wrong:
        raise SystemExit(BAD_INPUT if any(check.area == SETTINGS for check in wrong) else WRONG)


def examine(
    config: Path | None, load: "Load[Settings]", ask: "Callable[[Settings], Iterable[Check]]"
) -> "Iterator[Check]":
    """The settings first; with wrong ones nothing else can be asked."""
    from holdfast.app.doctor.check import Check
    from holdfast.settings import InvalidSettings

    if is_unconfigured(config):
        yield Check(SETTINGS, "holdfast.toml", None, NOT_FOUND)
    try:
        loaded = load(read_toml(config), os.environ)
    except InvalidSettings as refused:
        for problem in refused.problems:
            said, _, fix = problem.partition(": ")
            yield Check(SETTINGS, said, False, fix=fix)
        return
    yield Check(SETTINGS, "all", True, "they make sense, each and together")
    for warning in loaded.warnings:
        yield Check(SETTINGS, "look at", None, warning)
    yield from ask(loaded.settings)
