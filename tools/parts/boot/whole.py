"""Files that others read while they are written: whole, or not there."""

import os
import threading
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """A reader finds what was there before, or all of the text, and never half of it."""
    scratch = _beside(file, text)
    scratch.rename(file)


def create_whole(file: Path, text: str) -> None:
    """The same for a file that must not be there yet; raises FileExistsError if it is."""
    scratch = _beside(file, text)
    try:
        os.link(scratch, file)
    finally:
        scratch.unlink()


def _beside(file: Path, text: str) -> Path:
    scratch = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}.new")
    scratch.write_text(text)
    return scratch
