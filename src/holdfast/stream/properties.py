"""One number in a properties file of the KCL's MultiLangDaemon; every other byte stays as it is."""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from holdfast.kernel import Invalid

NAME: Final = "maxLeasesForWorker"
ENCODING: Final = "latin-1"
"""As Java reads such a file.  Every byte is a character, so that what is not understood stays what it is."""

LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
BLANK: Final = " \t\f"
PROPERTY: Final = re.compile(
    rf"(?:[{BLANK}]*\\(?:\r\n|\n|\r))*[{BLANK}]*{NAME}(?:[{BLANK}]*[=:][{BLANK}]*|[{BLANK}]+|$)"
)


def with_max_leases(text: str, max_leases: int) -> str:
    """The text with this number in force.  Of several lines Java takes the last, and so does this."""
    lines = list(_logical_lines(text))
    for start, end in reversed(lines):
        if found := PROPERTY.match(text[start:end]):
            head = text[: start + found.end()]
            return f"{head}{'' if head[-1] in f'=:{BLANK}' else '='}{max_leases}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith(("\n", "\r")) else newline
    if lines and _goes_on(text[slice(*lines[-1])].rstrip("\r\n")):
        gap += newline  # the last line waits for another
    return f"{text}{gap}{NAME} = {max_leases}{newline}"


def _logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each property begins and ends, with the lines that continue it; comments are none."""
    at, start = 0, None
    while at < len(text):
        line = LINE.match(text, at)
        assert line is not None
        body = line[1].lstrip(BLANK)
        if start is None and body and body[0] not in "#!":
            start = at
        if start is not None and not _goes_on(body):
            yield start, line.end(1)
            start = None
        at = line.end()
    if start is not None:
        yield start, len(text)


def _goes_on(body: str) -> bool:
    """An odd number of backslashes at the end continues the line."""
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def set_max_leases(path: Path, max_leases: int) -> bool:
    """Put the number into the file, all at once; whether anything had to change.

    Twice is once.  Raises Invalid with the fix, and then the file is as it was.
    """
    real = Path(os.path.realpath(path))  # a link stays a link
    try:
        text = real.read_bytes().decode(ENCODING)
        changed = with_max_leases(text, max_leases)
        if changed == text:
            return False
        if not os.access(real, os.W_OK) or not real.stat().st_mode & 0o222:
            raise PermissionError(0, "it is read-only")
        _replace(real, changed.encode(ENCODING))
    except OSError as error:
        fix = "give a file that may be written, in such a folder; a ConfigMap may not be, so copy it first"
        raise Invalid(f"--properties {path}: {error.strerror or error}: {fix}") from error
    return True


def _replace(path: Path, content: bytes) -> None:
    """A reader finds the old file or the new one, also after a crash; mode and owner stay."""
    was = path.stat()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as fresh:
            fresh.write(content)
            fresh.flush()
            os.fsync(fresh.fileno())
        os.chmod(name, was.st_mode & 0o7777)
        if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(name, was.st_uid, was.st_gid)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
