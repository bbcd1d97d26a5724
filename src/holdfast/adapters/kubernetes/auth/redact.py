"""Text of others, fit to be shown: short, in one line, and without what may be a secret."""

import re
from collections.abc import Iterable

TEXT_MAX = 400
NOT_SHOWN = "(not shown)"
PEM = re.compile(r"-----BEGIN .*?(-----END [A-Z ]+-----|\Z)", re.DOTALL)
LONG = re.compile(r"[\w=+-]{40,}")
"""A token has such words; host names, paths and sentences have not."""


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """`known`: secrets that must not be shown, however short."""
    for secret in known:
        text = text.replace(secret, NOT_SHOWN)
    text = LONG.sub(NOT_SHOWN, PEM.sub(NOT_SHOWN, text))
    text = " ".join(text.split())
    return text if len(text) <= TEXT_MAX else f"…{text[-TEXT_MAX:]}"
