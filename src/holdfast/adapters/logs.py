"""Log lines: one JSON object a message, or text for people.

`concerning` says which invocation and which action the lines inside it are about.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from holdfast.cloud.text import plain

LOGGER = "holdfast"

_request_id: ContextVar[str] = ContextVar("request_id", default="")
_action_id: ContextVar[str] = ContextVar("action_id", default="")

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def concerning(*, request_id: str = "", action_id: str = "") -> Iterator[None]:
    """What the lines inside are about; what is not given stays as it is around."""
    before = _request_id.get(), _action_id.get()
    _request_id.set(request_id or before[0])
    _action_id.set(action_id or before[1])
    try:
        yield
    finally:
        _request_id.set(before[0])
        _action_id.set(before[1])


class JsonLines(logging.Formatter):
    """One object a line; a caller's `extra`, and a message's own fields, stand beside the rest."""

    def format(self, record: logging.LogRecord) -> str:
        said: Any = record.msg
        line: dict[str, Any] = {
            "time": when(record.created),
            "level": record.levelname,
            "msg": getattr(said, "message", None) or record.getMessage(),
            **getattr(said, "fields", {}),
            "requestId": _request_id.get(),
            "actionId": _action_id.get(),
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value != ""}, default=str)


class LevelLines(logging.Formatter):
    """Level, message and fields, as stream workers write them; the time is the log driver's business."""

    def format(self, record: logging.LogRecord) -> str:
        return _told(self, record, f"{record.levelname}  {record.getMessage()}")


class TextLines(logging.Formatter):
    """For a terminal or a journal: time, level where it matters, message."""

    def format(self, record: logging.LogRecord) -> str:
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        return _told(self, record, f"{when(record.created)} {level}{record.getMessage()}")


def _told(how: logging.Formatter, record: logging.LogRecord, text: str) -> str:
    """Without a control character, in the message or in an exception's."""
    return plain(f"{text}\n{how.formatException(record.exc_info)}" if record.exc_info else text)


STYLES = {"json": JsonLines, "level": LevelLines, "text": TextLines}


def when(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def set_up(style: str = "text", *, level: int = logging.INFO, stream: TextIO | None = None) -> logging.Logger:
    """The product's logger, writing `json`, `text` or `level` lines to stderr or to the stream given.

    Twice is once: the second call replaces what the first one set up.  Other libraries' loggers
    are left alone.
    """
    logger = logging.getLogger(LOGGER)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(STYLES.get(style, TextLines)())
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
    return logger
