"""The doctor's findings as a table: fine, wrong, or worth knowing."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.app.doctor import Check
from holdfast.cli.render import QUIET, columns

MARKS = {True: ("ok", "green"), False: ("wrong", "bold red"), None: ("note", "yellow")}


def screen(checks: Sequence[Check]) -> RenderableType:
    parts: list[RenderableType] = []
    for area, of_area in groupby(checks, key=lambda check: check.area):
        table = columns("STATE", "WHAT", "SAYS", fold=("WHAT", "SAYS"))
        table.show_header = False
        for check in of_area:
            word, style = MARKS[check.ok]
            table.add_row(Text(f"  {word:5}", style), check.what, _says(check))
        parts += [Text(area, "bold"), table]
    return Group(*parts, Text(), _sum(checks))


def _says(check: Check) -> Text:
    text = Text(check.says, QUIET if check.ok else "")
    if check.fix:
        text.append(f"{chr(10) if text else ''}→ ", "cyan")
        text.append(check.fix)
    return text


def _sum(checks: Sequence[Check]) -> Text:
    wrong = sum(check.ok is False for check in checks)
    fine = sum(check.ok is True for check in checks)
    noted = sum(check.ok is None for check in checks)
    parts = [f"{wrong} wrong"] if wrong else []
    parts += [f"{fine} fine", *([f"{noted} not checked"] if noted else [])]
    return Text(", ".join(parts), "bold red" if wrong else "green")
