"""A database: sessions that threads share out, and transactions whose failures become outcomes."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from holdfast.adapters.sql.connection import Begin, Connection, Dialect, Failure, Result, Trouble
from holdfast.adapters.sql.outcome import before_commit, of_commit
from holdfast.adapters.sql.statements import expand, paragraphs
from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown


class Transaction:
    """Statements by name, inside one transaction."""

    def __init__(self, session: Connection, texts: "Texts") -> None:
        self._session, self._texts = session, texts

    def run(self, name: str, /, **values: Any) -> Result:
        return self._session.run(self._texts[name], values)

    def knows(self, name: str) -> bool:
        return name in self._texts

    def rows(self, name: str, /, **values: Any) -> Sequence[Sequence[Any]]:
        return self.run(name, **values).rows

    def count(self, name: str, /, **values: Any) -> int:
        return self.run(name, **values).count


class Texts(dict[str, str]):
    """Each statement of a dialect in its driver's own placeholders."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(
            {
                name: dialect.placeholders(expand(text, dialect.macros))
                for name, text in paragraphs(dialect.name).items()
            }
        )


class SqlDatabase:
    """Sessions are made as they are needed, one for each thread that is inside a transaction."""

    def __init__(self, dialect: Dialect, *, accept_weak_durability: bool = False) -> None:
        """Brings the schema up to date.

        Raises Invalid for a database of a newer release, or one that may lose what it has acknowledged;
        Busy if it cannot be reached.
        """
        self.dialect, self.where = dialect, dialect.where
        self._texts = Texts(dialect)
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        try:
            dialect.prepare()
            weak = () if accept_weak_durability else self.weaknesses()
        except Trouble as trouble:
            raise before_commit(self.where, trouble) from trouble
        if weak:
            self.close()
            raise Invalid(
                f"{self.where}: {'; '.join(weak)}. An acknowledged lease or epoch could be lost in a crash "
                "(mend it, or start with --accept-weak-durability)"
            )

    def weaknesses(self) -> Sequence[str]:
        """Settings under which an acknowledged commit may be lost, each with its fix.  Repeatable."""
        with self._session() as session:
            return self.dialect.weaknesses(session)

    @contextmanager
    def transaction(self, kind: Begin = Begin.WRITE) -> Iterator[Transaction]:
        """Commit if the block ends well, else roll back.

        Raises Busy or Conflict if nothing was written, Unknown if the commit gave no clear answer.
        """
        try:
            session = self._begun(kind)
        except Trouble as trouble:
            raise before_commit(self.where, trouble) from trouble
        try:
            yield Transaction(session, self._texts)
        except Trouble as trouble:
            self._abandon(session)
            raise before_commit(self.where, trouble) from trouble
        except BaseException:
            self._abandon(session)
            raise
        try:
            session.commit()
        except Trouble as trouble:
            self._abandon(session)
            raise of_commit(self.where, trouble) from trouble
        self._give_back(session)

    def run(self, name: str, /, **values: Any) -> Result:
        """One statement that is a transaction by itself.  Raises Unknown if its answer was lost."""
        with self._session() as session:
            return session.run(self._texts[name], values)

    def rows(self, name: str, /, **values: Any) -> Sequence[Sequence[Any]]:
        """One statement that only reads: without an answer it is Busy."""
        try:
            return self.run(name, **values).rows
        except Unknown as lost:
            raise Busy(str(lost)) from lost

    def close(self) -> None:
        """End all sessions; those in use end when they are given back."""
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
        for session in idle:
            session.close()

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        try:
            session = self._take() or self.dialect.connect()
        except Trouble as trouble:
            raise before_commit(self.where, trouble) from trouble
        try:
            yield session
        except Trouble as trouble:
            self._abandon(session)
            raise of_commit(self.where, trouble) from trouble
        except BaseException:
            self._abandon(session)
            raise
        self._give_back(session)

    def _begun(self, kind: Begin) -> Connection:
        """A session that sat idle while its server was restarted is replaced: nothing was asked of it yet."""
        while session := self._take():
            try:
                session.begin(kind)
            except Trouble as trouble:
                self._abandon(session)
                if trouble.failure is not Failure.LOST:
                    raise
            else:
                return session
        session = self.dialect.connect()
        try:
            session.begin(kind)
        except BaseException:
            session.close()
            raise
        return session

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(session)
                return
        session.close()

    def _abandon(self, session: Connection) -> None:
        """After any error the transaction is rolled back: some databases keep one open after a failed
        statement, and its next COMMIT would write half."""
        try:
            session.rollback()
        except (Trouble, HoldfastError):
            with suppress(Trouble):
                session.close()
        else:
            self._give_back(session)
