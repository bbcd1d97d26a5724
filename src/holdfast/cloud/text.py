"""Texts for people: harmless whatever they came from, with durations and plurals as people write them."""

from typing import Final

VISIBLE: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    # Marks that turn the direction of what follows, or hide.
    **dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
"""Control characters by what is shown in their place: the picture of an ESC does not move a cursor."""


def plain(text: str) -> str:
    """Without a control character but line breaks and tabs: names, labels, annotations, consoles and messages
    come from outside, and must not steer a terminal or a page."""
    return text if text.isascii() and text.isprintable() else text.translate(VISIBLE)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 worker`, `2 workers`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def lasting(seconds: float) -> str:
    """`45 s`, `3m20s`, `2h05m`, `4d3h`: two units at most."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest_s = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest_s:02d}s" if rest_s else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h{minutes:02d}m" if minutes else f"{hours}h"
    return f"{hours // 24}d{hours % 24}h" if hours % 24 else f"{hours // 24}d"
