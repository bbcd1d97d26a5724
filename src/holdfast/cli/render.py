"""What views are drawn on: a terminal with its colours, or a plain hundred columns for a pipe."""

import io
from collections.abc import Iterator, Mapping, Sequence

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from holdfast.cloud.text import plain

PIPE_COLUMNS, PIPE_LINES = 100, 45
GAP = 2
"""Between two columns."""

STATES = {
    "serving": "green",
    "joining": "cyan",
    "not-ready": "bold red",
    "cordoned": "yellow",
    "draining": "dark_orange",
    "interrupted": "magenta",
    "terminating": "red",
    "leaving": "bright_black",
}
QUIET = "bright_black"


def width() -> int:
    """How many columns there are to draw on."""
    console = Console()
    return console.width if console.is_terminal else PIPE_COLUMNS


def fits(part: RenderableType) -> bool:
    """Whether one screen holds it, with a line left for what is typed next."""
    console = Console()
    most = console.height - 1 if console.is_terminal else PIPE_LINES
    return len(console.render_lines(part, console.options.update(width=width()), pad=False)) <= most


class Harmless:
    """Draws what it was given, without any control character in its texts."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._part, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


def whole_columns(
    heads: Sequence[str], rows: Sequence[Mapping[str, Text]], width: int, left_out_first: Sequence[str]
) -> list[str]:
    """As many as fit: a screen full of cut words says nothing."""
    left = list(heads)
    widths = {head: max(len(head), *(row[head].cell_len for row in rows)) + GAP for head in left}
    for dispensable in left_out_first:
        if sum(widths[head] for head in left) - GAP <= width:
            break
        left = [head for head in left if head != dispensable]
    return left


def show(*parts: RenderableType) -> None:
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        for part in parts:
            console.print(Harmless(part))
        return
    pipe = Console(highlight=False, markup=False, width=PIPE_COLUMNS, file=io.StringIO(), color_system=None)
    for part in parts:
        pipe.print(Harmless(part))
    text: str = pipe.file.getvalue()  # type: ignore[attr-defined]  # the one given above
    click.echo("\n".join(line.rstrip() for line in text.splitlines()))


def facts(*rows: tuple[str, RenderableType | None]) -> Table:
    """Names on the left, what is so on the right; rows without anything to say are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            table.add_row(name, value)
    return table


def columns(*heads: str, right: tuple[str, ...] = (), fold: tuple[str, ...] = ()) -> Table:
    """A table without lines, which looks the same on a terminal and on a pipe."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=f"bold {QUIET}")
    for head in heads:
        table.add_column(
            head,
            justify="right" if head in right else "left",
            no_wrap=head not in fold,
            overflow="fold" if head in fold else "ellipsis",
        )
    return table


def dollars(usd: float | None) -> str:
    if usd is None:
        return "?"
    return f"${usd:.2f}" if usd >= 10 else f"${usd:.4f}"


def listed(items: tuple[str, ...], most: int, style: str = "") -> Text | None:
    """The first few, and how many more there are."""
    if not items:
        return None
    more = [f"… and {len(items) - most} more"] if len(items) > most else []
    return Text("\n".join((*items[:most], *more)), style=style)
