"""Members that the database does not know any more: it was restored from before they were enrolled.

Their tokens open nothing, so they get the same 401 as any stranger.  But this server has seen those tokens in
the database before, and kept their digests.  So whom it names has proved who it is, and a stranger leaves no
trace: there is nothing that one could flood.  Only a database that was found to be behind has lost anything:
at other times a token that is gone was ended by a person.

The file is written aside and renamed.  It holds no secret: a digest opens nothing.
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from holdfast.failover.tenants import Token, TokenKind

LOG = logging.getLogger("holdfast")
LEARNED_EVERY_S: Final = 10.0
"""So often the tokens of all agents are read from the database."""
NAMED_FOR_S: Final = 7 * 86_400.0
"""For so long after a restore, members that it has lost are named."""
MISSED: Final = (
    "%s of %s/%s has a token that the database does not know: it was enrolled after the backup from which "
    "the database was restored. Enrol it again: `holdfast failover enrol %s`"
)

Identity = tuple[str, str, str]
"""Client, agent, instance."""


class Members:
    """Every method may be called from any thread."""

    def __init__(self, path: Path, now_s: Callable[[], float]) -> None:
        """`now_s`: by a clock that goes on while no server runs."""
        self._path, self._now_s, self._lock = path, now_s, threading.Lock()
        self._known, self._missing, self._restored_s = _read(path)
        self._stored = self._kept()
        self._said: set[Identity] = set()
        self._full = False

    def behind(self) -> None:
        """The database was found to be from the past.  Twice is once."""
        with self._lock:
            if not self._names():
                self._restored_s = self._now_s()

    def learned(self, tokens: Iterable[Token]) -> None:
        """All agents' tokens, as the database says.  Twice is once."""
        found = {token.digest: identity for token in tokens if (identity := _of(token))}
        enrolled = set(found.values())
        with self._lock:
            self._known = {**self._known, **found} if self._names() else found
            self._missing = {
                d: who for d, who in self._known.items() if d not in found and who not in enrolled
            }

    def saw(self, token: Token) -> None:
        """A token that the database knows was used."""
        identity = _of(token)
        if identity is not None:
            with self._lock:
                self._known[token.digest] = identity

    def knows(self, digest: str) -> bool:
        """Whether the database was last seen to hold this token of an agent."""
        return digest in self._known and digest not in self._missing

    def refused(self, digest: str) -> None:
        """A token that the database does not know was used: said once.  A stranger's leaves no trace."""
        with self._lock:
            identity = self._missing.get(digest)
            if identity is None or identity in self._said:
                return
            self._said.add(identity)
        client_id, agent_id, instance_id = identity
        LOG.warning(MISSED, instance_id, client_id, agent_id, agent_id)

    def missing(self, client_id: str, agent_id: str) -> list[str]:
        """The instances of a group that the database does not know any more."""
        with self._lock:
            found = set(self._missing.values())
        return sorted(who[2] for who in found if who[:2] == (client_id, agent_id))

    def store(self) -> None:
        """What has changed goes to the file.  Twice is once.  A full disk stops no server."""
        with self._lock:
            now = self._kept()
            if now == self._stored:
                return
            aside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            try:
                aside.touch(0o600)
                aside.write_text(json.dumps(now))
                aside.replace(self._path)
            except OSError as error:
                if not self._full:
                    LOG.warning("%s cannot be written: %s", self._path, error.strerror or error)
                self._full = True
            else:
                self._stored, self._full = now, False

    def _names(self) -> bool:
        return self._now_s() < self._restored_s + NAMED_FOR_S

    def _kept(self) -> dict[str, Any]:
        return {"known": dict(self._known), "missing": dict(self._missing), "restored_s": self._restored_s}


def _of(token: Token) -> Identity | None:
    if token.kind is not TokenKind.AGENT:
        return None
    return token.client_id, token.agent_id, token.instance_id


def _read(path: Path) -> tuple[dict[str, Identity], dict[str, Identity], float]:
    """What cannot be read is forgotten: then members are not named, and nothing else is lost."""
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        known, missing = (
            {str(digest): (str(who[0]), str(who[1]), str(who[2])) for digest, who in said[part].items()}
            for part in ("known", "missing")
        )
        return known, missing, float(said["restored_s"])
    except FileNotFoundError:
        return {}, {}, 0.0
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        LOG.warning("%s cannot be read: members that a restored database has lost are not named", path)
        return {}, {}, 0.0
